/** Rows are reviewed by people: a verdict with a key, the queue of rows that nobody reviewed yet. */
import { request } from '../../../api/request'
import type { JobDetail, Label } from '../../../api/types'
import { currentOf, OUTCOME, sayOf, type Said } from '../labels'
import type { ResultTable } from './table.svelte'
import { queryOf, termsOf } from './terms'

const TERM = 'reviewed = false'
/** Rows with an output, which somebody can judge. */
const JUDGEABLE = 'outcome in (pass, fail)'

export const isQueue = (q: string) => termsOf(q).some((term) => term.name === 'reviewed' && term.op === '=' && term.values?.[0] === 'false')

/** The filter of the queue, or without it. */
export function queueOf(q: string): string {
  const terms = termsOf(q)
  if (isQueue(q)) return queryOf(terms.filter((term) => term.name !== 'reviewed' && term.text !== JUDGEABLE))
  return [...terms.map((term) => term.text), JUDGEABLE, TERM].join(' and ')
}

/** Reads the labels of an item and puts them into its row: it stays in its place, whatever the filter says. */
export async function relabel(table: ResultTable, item: string) {
  const { labels } = await request('get', '/api/v1/items/{item}/labels', { path: { item: Number(item) } })
  table.relabel(item, currentOf(labels))
}

export async function giveVerdict(job: JobDetail, table: ResultTable, item: string, said: Said, done: () => void) {
  const { labels } = await request('get', '/api/v1/items/{item}/labels', { path: { item: Number(item) } })
  const before: Label | undefined = currentOf(labels).get(OUTCOME)
  if (said === null && before === undefined) return
  await sayOf(job, item, OUTCOME, said, '', before, () => (void relabel(table, item), done()))
}
