/** Numbers of an ingest run, from its lineage. */
import type { components } from '../../../api/schema'

type Slice = components['schemas']['SliceNode']
const NAMES = ['fetched', 'upserted', 'skipped', 'failed', 'pages', 'bytesIn'] as const
type Totals = Record<(typeof NAMES)[number], number>

/** The document names two types `Stats`; the numbers of an ingest run are read by name. */
function numbers(stats: unknown): Partial<Totals> {
  return stats as Partial<Totals>
}

/** Every attempt resumes after the last committed page, so that their sum counts each record once. */
export function totals(slices: readonly Slice[]): Totals {
  const sum: Totals = { fetched: 0, upserted: 0, skipped: 0, failed: 0, pages: 0, bytesIn: 0 }
  for (const attempt of slices.flatMap((slice) => slice.task.runs)) {
    for (const name of NAMES) sum[name] += numbers(attempt.stats)[name] ?? 0
  }
  return sum
}

export function fetchedOf(stats: unknown): number {
  return numbers(stats).fetched ?? 0
}

const ORDER = ['FAILED', 'PARTIAL', 'EXECUTING', 'DISPATCHED', 'PENDING']

export function worriedFirst(slices: readonly Slice[]): Slice[] {
  const rank = (slice: Slice) => (ORDER.includes(slice.status) ? ORDER.indexOf(slice.status) : ORDER.length)
  return [...slices].sort((a, b) => rank(a) - rank(b))
}
