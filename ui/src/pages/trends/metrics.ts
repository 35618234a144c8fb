/** The metrics of a trend: their titles, numbers and points. */
import type { Trend, TrendView } from '../../api/types'
import { count, percent, score } from '../../text/number'
import { took } from '../../text/time'
import { dollars } from '../job/experiment/cells'

export interface Whisker {
  no: number
  value?: number | undefined
  low?: number | undefined
  high?: number | undefined
  n?: number | undefined
  /** What is not as in the run before, e.g. `prompt`. */
  changed: readonly string[]
}

/** From the run at this place on. */
export function whiskersOf(view: TrendView, trend: Trend, from: number): Whisker[] {
  return view.runs.slice(from).map((run, n) => {
    const point = trend.points[from + n]
    return { no: run.no, value: point?.value, low: point?.interval?.low, high: point?.interval?.high, n: point?.n, changed: n === 0 ? [] : run.changed }
  })
}

/** `exact.mean` is `exact`: the mean is what a score is. */
export const titleOf = (metric: string) => metric.replace(/\.mean$/, '').replace(/\.pass_rate$/, ', share that pass').replace(/^(.*)latency\.(p\d+)$/, '$1latency $2')

export function formatOf(metric: string): (value: number) => string {
  if (/(^|\.)latency\./.test(metric)) return (value) => took(value)
  if (/(^|\.)cost$/.test(metric)) return dollars
  if (/(^|\.)tokens$/.test(metric)) return (value) => count(Math.round(value))
  return /((^|\.)errors|pass_rate|pass[@^]\d+)$/.test(metric) ? (value) => percent(value, 1) : (value) => score(value)
}
