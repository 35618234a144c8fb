/** A job file from the frozen definition of an experiment, to change and run under another name or over other rows. */
import type { JobDetail } from '../../api/types'
import { field, fields } from '../../text/json'
import { toYaml } from '../../text/yaml'

type Value = Record<string, unknown>
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isSet = (value: unknown) => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

/** Why a definition cannot be written as a file here. */
export function unwritable(job: JobDetail): string | undefined {
  if (job.kind !== 'experiment') return 'Only experiments can be opened as a new job'
  const [name] = ['variants', 'columns', 'conversation'].filter((name) => isSet(field(job.spec, name)))
  return name ? `The job has ${name}; start from its own file` : undefined
}

export function fileOf(job: JobDetail, name: string, dataset: string): string {
  const spec = job.spec
  const quality = field(spec, 'quality')
  const trials = field(spec, 'trials')
  const file: Value = {
    kind: 'experiment',
    name,
    dataset: { name: dataset },
    target: { ...named(field(spec, 'target')), ...prompts(asList(field(spec, 'messages'))) },
    evaluators: asList(field(spec, 'evaluators')).map(evaluator),
    ...(typeof trials === 'number' && trials > 1 ? { trials } : {}),
    ...Object.fromEntries(fields(quality).filter(([, value]) => isSet(value)).map(([key, value]) => [key, value])),
    concurrency: job.latest_run.concurrency,
  }
  return `# ${job.name}, as it was frozen for run ${job.latest_run.no}\n${toYaml(file)}\n`
}

/** `{ kind, config }` as the file writes it: `{ openai: { … } }`. */
function named(value: unknown): Value {
  return { [String(field(value, 'kind'))]: cleaned(field(value, 'config')) }
}

function evaluator(value: unknown): Value {
  const [kind, name] = [String(field(value, 'kind')), field(value, 'name')]
  return { [kind]: { ...cleaned(field(value, 'config')), ...(name === kind ? {} : { name }) } }
}

const cleaned = (value: unknown): Value => Object.fromEntries(fields(value).filter(([, entry]) => isSet(entry)))

function prompts(messages: readonly unknown[]): Value {
  const of = (role: string) => messages.filter((message) => field(message, 'role') === role).map((message) => field(message, 'content'))
  const [system, user] = [of('system'), of('user')]
  if (messages.length === system.length + user.length && user.length === 1 && system.length <= 1) return { ...(system.length ? { system: system[0] } : {}), prompt: user[0] }
  return messages.length > 0 ? { messages } : {}
}
