/** Rows by outcome as segments of a bar: a wrong answer and no answer never share one. */
import type { Segment, SegmentKind } from '../../../text/bars'

const KINDS: readonly [outcome: string, kind: SegmentKind][] = [
  ['pass', 'pass'],
  ['fail', 'fail'],
  ['error', 'error'],
  ['skipped', 'skip'],
  ['cancelled', 'cancel'],
  ['running', 'run'],
  ['queued', 'queue'],
]

export function outcomeSegments(outcomes: Record<string, number>): Segment[] {
  return KINDS.flatMap(([outcome, kind]) => ((outcomes[outcome] ?? 0) > 0 ? [{ kind, label: outcome, count: outcomes[outcome]!, state: outcome }] : []))
}
