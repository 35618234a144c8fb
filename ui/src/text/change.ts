/** A change against a baseline in words. Only an interval clear of zero says better or worse. */
import type { Difference, Interval, Metric } from '../api/types'
import { score } from './number'

export type Direction = 'better' | 'worse' | 'unclear'

export function signed(value: number, digits = 3): string {
  const text = score(Math.abs(value), digits)
  return Number(text) === 0 ? text : `${value > 0 ? '+' : '−'}${text}`
}

export function range(interval: Interval | null | undefined, format: (value: number) => string = (value) => score(value)): string {
  return interval ? `[${format(interval.low)}, ${format(interval.high)}]` : '–'
}

export function chance(p: number | null | undefined): string {
  if (p === null || p === undefined) return ''
  return p < 0.001 ? 'p < 0.001' : `p = ${Number(p.toPrecision(2))}`
}

/** By the interval, and by a p-value that was adjusted for several comparisons. */
export function directionOf(difference: Difference | undefined, p?: number | null): Direction {
  const change = difference?.mean
  const interval = change?.interval
  if (!change || !interval || (interval.low <= 0 && interval.high >= 0) || (p ?? change.p ?? 0) > 0.05) return 'unclear'
  return change.difference > 0 ? 'better' : 'worse'
}

export const triangle = (value: number) => (value > 0 ? '▲' : value < 0 ? '▼' : '=')

/** Of a metric against its baseline; all metrics of a view are corrected together. */
export function directionOfMetric(paired: Metric['paired']): Direction {
  if (!paired?.interval || paired.verdict === 'unclear' || (paired.p_adjusted ?? paired.p ?? 0) > 0.05) return 'unclear'
  return paired.diff > 0 ? 'better' : 'worse'
}
