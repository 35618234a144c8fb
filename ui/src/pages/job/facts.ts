/** What a job's definition says in a few words: its dataset, target, evaluators, source or action. */
import type { JobDetail } from '../../api/types'
import { field } from '../../text/json'

function name(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const version = field(value, 'version')
  const known = field(value, 'name') ?? field(value, 'path') ?? field(value, 'model') ?? field(value, 'url')
  return typeof known === 'string' ? (version ? `${known}@v${String(version)}` : known) : undefined
}

/** Of a value like `{ kind: openai, config: { model } }`: its kind, and what it names. */
function kindOf(value: unknown): string | undefined {
  const kind = field(value, 'kind')
  const config = field(value, 'config')
  const named = field(config, 'do') ?? name(config)
  return typeof kind === 'string' ? [kind, named].filter(Boolean).join(' ') : undefined
}

export function factsOf(job: JobDetail): [string, string][] {
  const spec = job.spec
  const evaluators = field(spec, 'evaluators')
  const names = Array.isArray(evaluators) ? evaluators.map((entry) => String(field(entry, 'name') ?? '')).filter(Boolean) : []
  const found: [string, string | undefined][] = [
    ['dataset', name(field(spec, 'dataset'))],
    ['target', kindOf(field(spec, 'target'))],
    ['evaluators', names.join(', ') || undefined],
    ['source', kindOf(field(spec, 'source'))],
    ['destination', kindOf(field(spec, 'destination'))],
    ['action', kindOf(field(spec, 'action'))],
  ]
  return found.filter((entry): entry is [string, string] => entry[1] !== undefined)
}
