/**
 * What can stand where the cursor is: the server knows. The file is checked with a word in this place that nothing is
 * called, and the server lists what it knows instead. So each kind of job is completed in each place, as the server is.
 */
import { request } from '../../api/request'
import { expectedError, Rejected } from '../../api/errors'
import type { PlacedProblem } from '../../api/types'

const PROBE = 'windrow_asks_what_is_known'
const LIST = /(?:known [a-z ]+:|there are:|the kinds are:|expected one of) (.+)$/
const NAME = /^[\w.-]+$/

export interface Place {
  from: number
  to: number
  /** A name is followed by a colon and has none yet. */
  what: 'name' | 'named' | 'value'
}

/** The word at the cursor; nothing where no word of the schema can stand. */
export function placeAt(text: string, cursor: number): Place | undefined {
  const begin = text.lastIndexOf('\n', cursor - 1) + 1
  const before = text.slice(begin, cursor)
  const word = /[\w.-]*$/.exec(before)![0]
  const head = before.slice(0, before.length - word.length)
  const rest = /^[\w.-]*/.exec(text.slice(cursor))![0]
  const place = { from: cursor - word.length, to: cursor + rest.length }
  if (/#|["']$/.test(head)) return undefined
  if (/(^|[\s{,-])[\w.-]+:\s+$/.test(head) || /\[(.*,)?\s*$/.test(head)) return { ...place, what: 'value' }
  if (/^\s*(-\s+)*$/.test(head) || /[{,]\s*$/.test(head)) return { ...place, what: /^\s*:/.test(text.slice(place.to)) ? 'named' : 'name' }
  return undefined
}

/** What closes the brackets that this line leaves open. */
function closing(line: string): string {
  const open: string[] = []
  for (const [bracket] of line.matchAll(/[{}[\]]/g)) {
    if (bracket === '{' || bracket === '[') open.unshift(bracket === '{' ? '}' : ']')
    else open.shift()
  }
  return open.join(' ')
}

export function probed(text: string, { from, to, what }: Place): string {
  const begin = text.lastIndexOf('\n', from - 1) + 1
  const end = text.indexOf('\n', to) < 0 ? text.length : text.indexOf('\n', to)
  const line = text.slice(begin, from) + (what === 'name' ? `${PROBE}: {}` : PROBE) + text.slice(to, end)
  return `${text.slice(0, begin)}${line} ${closing(line)}${text.slice(end)}`
}

export function namesIn(problems: readonly PlacedProblem[]): string[] {
  const own = problems.filter((problem) => problem.message.includes(PROBE))
  const lists = own.flatMap(({ message, remedy }) => LIST.exec(remedy ?? '')?.[1] ?? LIST.exec(message)?.[1] ?? [])
  const names = lists.flatMap((list) => list.split(', ').filter((name) => NAME.test(name)))
  // A file without a kind has no other names yet.
  return names.length > 0 || !problems.some((problem) => problem.message.includes('`kind` is missing')) ? [...new Set(names)] : ['kind']
}

export async function namesAt(text: string, place: Place, signal: AbortSignal): Promise<string[]> {
  try {
    await request('post', '/api/v1/check', { json: { file: probed(text, place) }, signal, timeoutMs: 10_000 })
    return []
  } catch (error) {
    const why = signal.aborted ? undefined : expectedError(error)
    return why instanceof Rejected ? namesIn(why.problem.problems ?? []) : []
  }
}
