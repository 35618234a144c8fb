/** The columns that a table has unless the user chose others. */
import type { ResultView } from '../../../api/types'
import { field } from '../../../text/json'
import { evaluatorsOf, ordered, type PageState } from './page.svelte'

export type Room = 'wide' | 'medium' | 'narrow'

export function usualColumns(state: PageState, view: ResultView | undefined, room: Room): string[] {
  const metrics = ordered(view?.metrics ?? [], evaluatorsOf(state.job())).map((metric) => `score.${metric.name}`)
  const paired = view?.vs !== null && view?.vs !== undefined
  const variants = (view?.variants.length ?? 0) > 0
  if (room === 'narrow') return ['row', 'outcome', 'expected', 'output', ...metrics.slice(0, 1)]
  // A pipeline shows every column; its output is that of the last.
  const columns = (view?.columns ?? []).map((column) => column.name).filter((name) => name.startsWith('output.'))
  const outputs = columns.length > 0 ? columns : ['output']
  const texts = ['input', 'expected', ...(paired ? ['baseline.output'] : []), ...outputs]
  const trials = Number(field(state.job().spec, 'trials') ?? 1) > 1 ? ['trials'] : []
  const rest = room === 'wide' ? [...trials, 'latency_ms', 'cost', 'tries'] : trials
  return ['row', ...(variants ? ['variant'] : []), 'outcome', ...texts, ...metrics.slice(0, room === 'wide' ? 4 : 2), ...rest]
}
