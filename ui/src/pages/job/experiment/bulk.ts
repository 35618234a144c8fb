/** The items of a selection, and where they can be downloaded. */
import { urlOf, request } from '../../../api/request'
import { jobKey } from '../../../text/links'
import type { PageState } from './page.svelte'
import { MOST_ITEMS, type Selection } from './selection.svelte'
import type { ResultTable } from './table.svelte'

const PAGE = 1_000
const FORMATS = [['jsonl', 'JSON lines'], ['csv', 'CSV'], ['parquet', 'Parquet'], ['html', 'HTML, one file']] as const

export async function idsOf(table: ResultTable, selection: Selection): Promise<number[]> {
  if (!selection.all) return selection.rows.map((row) => Number(row.item))
  const ids: number[] = []
  for (let offset = 0; offset < table.length; offset += PAGE) {
    const page = await request('get', '/api/v1/jobs/{job}/views/{view}/rows', { path: { job: table.job, view: selection.all }, query: { offset, limit: PAGE } })
    ids.push(...page.rows.map((row) => Number(row.item)))
  }
  return ids
}

/** Only the page has a baseline, so only it can be asked for what changed. */
const asksBaseline = (where: string) => /\b(delta|change|baseline)\./.test(where)

/** A label changes what such a filter finds: taking it back needs the ids. */
const asksPeople = (where: string) => /\b(reviewed|label|corrected)\b/.test(where)

/** The selected rows for a request: by a condition where all that match are selected, else by their ids. */
export async function whichOf(state: PageState, table: ResultTable, selection: Selection): Promise<{ where: string } | { items: string[] }> {
  if (selection.all && state.q && !state.run && !asksBaseline(state.q) && (!asksPeople(state.q) || table.length > MOST_ITEMS)) return { where: state.q }
  return { items: (await idsOf(table, selection)).map(String) }
}

export function exports(state: PageState, where: string) {
  const { run, vs } = state.whole
  const job = state.job()
  return FORMATS.filter(([format]) => !asksBaseline(where) || format === 'html').map(([format, title]) => ({
    title,
    href: urlOf('/api/v1/jobs/{job}/export', { path: { job: jobKey(job) }, query: { format, where, run, vs: format === 'html' ? vs : undefined } }),
    download: `${job.name}.${format}`,
  }))
}
