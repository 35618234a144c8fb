/** The segments of a progress bar, in the order of the legend. Failed items of an experiment ended in an error: plum, not red. */
import type { Counts, Job } from '../api/types'

export type SegmentKind = 'pass' | 'fail' | 'error' | 'skip' | 'cancel' | 'run' | 'queue'

export interface Segment {
  kind: SegmentKind
  label: string
  count: number
  /** The state of the items it counts. */
  state?: string
}

export function segmentsOf(counts: Counts, kind: string): Segment[] {
  const all: Segment[] = [
    { kind: 'pass', label: 'succeeded', count: counts.succeeded, state: 'succeeded' },
    { kind: kind === 'experiment' ? 'error' : 'fail', label: 'failed', count: counts.failed, state: 'failed' },
    { kind: 'skip', label: 'skipped', count: counts.skipped, state: 'skipped' },
    { kind: 'cancel', label: 'cancelled', count: counts.cancelled, state: 'cancelled' },
    { kind: 'run', label: 'running', count: counts.running },
    { kind: 'queue', label: 'queued', count: counts.queued, state: 'queued' },
  ]
  return all.filter((segment) => segment.count > 0)
}

/** Of an experiment all items, whichever run had them last; of other jobs those of the latest run. */
export function countsOf(job: Job): Counts {
  return job.kind === 'experiment' ? job.items : job.latest_run.items
}

export function settled(counts: Counts): number {
  return counts.succeeded + counts.failed + counts.skipped + counts.cancelled
}
