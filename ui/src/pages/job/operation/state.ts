/** What a target is in a few words, and the counters of a wave. */
import type { Run, Target } from '../../../api/types'
import type { Segment, SegmentKind } from '../../../text/bars'
import { needsApproval } from '../../../text/status'

export type TargetState = 'failed' | 'unknown' | 'conflict' | 'in flight' | 'verified' | 'already so' | 'cancelled' | 'waiting'

/** In the order of worry: failed first. */
export const STATES: readonly TargetState[] = ['failed', 'conflict', 'unknown', 'in flight', 'cancelled', 'verified', 'already so', 'waiting']

const KINDS: Record<TargetState, SegmentKind> = { failed: 'fail', conflict: 'fail', unknown: 'error', 'in flight': 'run', verified: 'pass', 'already so': 'skip', cancelled: 'cancel', waiting: 'queue' }

export function stateOf(target: Target): TargetState {
  const status = target.status.toLowerCase()
  if (isConflict(target)) return 'conflict'
  if (status === 'unknown' || /^(lost|unknown)/.test(target.error ?? '')) return 'unknown'
  if (status.includes('fail')) return 'failed'
  if (/running|retry/.test(status)) return 'in flight'
  if (status === 'cancel') return 'cancelled'
  if (/success|completed/.test(status)) return target.changed || status.startsWith('rollback') ? 'verified' : 'already so'
  return 'waiting'
}

/** Somebody else changed it after the operation; a rollback does not overwrite that. */
export function isConflict(target: Target): boolean {
  return target.conflict === true
}

export function worry(target: Target): number {
  return STATES.indexOf(stateOf(target))
}

export function segmentsOf(targets: readonly Target[]): Segment[] {
  const counts = new Map<TargetState, number>()
  for (const target of targets) counts.set(stateOf(target), (counts.get(stateOf(target)) ?? 0) + 1)
  return STATES.filter((state) => counts.has(state)).map((state) => ({ kind: KINDS[state], label: state, count: counts.get(state)! }))
}

/** The status of a wave, in the words of the API. */
export function waveStatus(run: Run, wave: number, members: readonly Target[]): string {
  const states = members.map(stateOf)
  const failed = states.filter((state) => state === 'failed' || state === 'conflict' || state === 'unknown').length
  const open = states.filter((state) => state === 'waiting' || state === 'in flight').length
  const current = run.rollout?.wave ?? 1
  if (open > 0 && wave === current + 1 && needsApproval(run)) return 'needs approval'
  if (open > 0) return wave > current || run.ended_at ? 'pending' : run.state === 'paused' ? 'paused' : 'running'
  return failed === 0 ? 'success' : failed === members.length ? 'fail' : 'partial_fail'
}

export function waveName(wave: number, waves: number): string {
  return wave === 1 && waves > 1 ? 'Canary' : `Wave ${wave}`
}
