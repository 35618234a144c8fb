/** JSON values of unknown shape, for people. */

export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

export function compact(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The fields of an object, or none. */
export function fields(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
}

export function field(value: unknown, ...names: string[]): unknown {
  let at: unknown = value
  for (const name of names) at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined
  return at
}
