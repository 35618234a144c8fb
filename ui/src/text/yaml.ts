/** Writes a JSON value as YAML: enough to read a definition. Strings that YAML would read as something else are quoted. */
const PLAIN = /^[A-Za-z_/.][\w ./@:-]*$/
const SPECIAL = /^(?:true|false|null|yes|no|on|off|~)$|: |:$|\s$/i

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return PLAIN.test(value) && !SPECIAL.test(value) ? value : JSON.stringify(value)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

export function toYaml(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null || isEmpty(value)) return indent + scalar(value)
  if (Array.isArray(value)) {
    return value.map((entry) => (typeof entry === 'object' && entry !== null && !isEmpty(entry) ? `${indent}- ${toYaml(entry, `${indent}  `).trimStart()}` : `${indent}- ${scalar(entry)}`)).join('\n')
  }
  return Object.entries(value)
    .filter(([, entry]) => entry !== null && entry !== undefined)
    .map(([key, entry]) => (typeof entry === 'object' && !isEmpty(entry) ? `${indent}${scalar(key)}:\n${toYaml(entry, `${indent}  `)}` : `${indent}${scalar(key)}: ${scalar(entry)}`))
    .join('\n')
}
