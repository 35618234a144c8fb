/** Numbers of an ingest run, from its lineage. */
import type { components } from '../../../api/schema'

export type Slice = components['schemas']['SliceNode']
const NAMES = ['fetched', 'upserted', 'skipped', 'failed', 'pages', 'bytesIn'] as const
type Totals = Record<(typeof NAMES)[number], number>

/** The document names two types `Stats`; the numbers of an ingest run are read by name. */
export function numbersOf(stats: unknown): Partial<Totals> {
  return stats as Partial<Totals>
}

/** Every attempt resumes after the last committed page, so that their sum counts each record once. */
export function totals(slices: readonly Slice[]): Totals {
  const sum: Totals = { fetched: 0, upserted: 0, skipped: 0, failed: 0, pages: 0, bytesIn: 0 }
  for (const attempt of slices.flatMap((slice) => slice.task.runs)) {
    for (const name of NAMES) sum[name] += numbersOf(attempt.stats)[name] ?? 0
  }
  return sum
}

export function fetchedOf(stats: unknown): number {
  return numbersOf(stats).fetched ?? 0
}

const ORDER = ['FAILED', 'PARTIAL', 'EXECUTING', 'DISPATCHED', 'PENDING']

export function worriedFirst(slices: readonly Slice[]): Slice[] {
  const rank = (slice: Slice) => (ORDER.includes(slice.status) ? ORDER.indexOf(slice.status) : ORDER.length)
  return [...slices].sort((a, b) => rank(a) - rank(b))
}

export function rejectedOf(stats: unknown): number {
  return numbersOf(stats).failed ?? 0
}

/** The 95th percentile of the time between two committed pages of an attempt, of the pages listed. */
export function pageP95(slices: readonly Slice[]): number | undefined {
  const gaps = slices.flatMap((slice) => slice.task.runs).flatMap(({ batches }) => {
    const times = batches.flatMap((batch) => (batch.committed_at ? [Date.parse(batch.committed_at)] : [])).sort((a, b) => a - b)
    return times.slice(1).map((time, n) => time - times[n]!)
  })
  return gaps.length === 0 ? undefined : gaps.sort((a, b) => a - b)[Math.min(gaps.length - 1, Math.floor(gaps.length * 0.95))]
}
