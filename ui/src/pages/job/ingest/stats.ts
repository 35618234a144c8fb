/** Numbers of an ingest run, from its lineage. */
import type { components } from '../../../api/schema'

export type Slice = components['schemas']['SliceNode']
export type Attempt = components['schemas']['TaskRunNode']
const NAMES = ['fetched', 'upserted', 'skipped', 'failed', 'pages', 'bytesIn', 'latencyMs', 'transientErrors'] as const
export type Totals = Record<(typeof NAMES)[number], number>

/** The document names two types `Stats`; the numbers of an ingest run are read by name. */
export function numbersOf(stats: unknown): Partial<Totals> {
  return stats as Partial<Totals>
}

/** A slice also lists the attempts of other runs. */
export function attemptsOf(slices: readonly Slice[], run: string): Attempt[] {
  return slices.flatMap((slice) => slice.task.runs).filter((attempt) => attempt.run === run)
}

/** Every attempt resumes after the last committed page, so that their sum counts each record once. */
export function totals(slices: readonly Slice[], run: string): Totals {
  const sum = Object.fromEntries(NAMES.map((name) => [name, 0])) as Totals
  for (const attempt of attemptsOf(slices, run)) {
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
export function gapsP95(attempts: readonly Attempt[]): number | undefined {
  const gaps = attempts.flatMap(({ batches }) => {
    const times = batches.flatMap((batch) => (batch.committed_at ? [Date.parse(batch.committed_at)] : [])).sort((a, b) => a - b)
    return times.slice(1).map((time, n) => time - times[n]!)
  })
  return gaps.length === 0 ? undefined : gaps.sort((a, b) => a - b)[Math.min(gaps.length - 1, Math.floor(gaps.length * 0.95))]
}
