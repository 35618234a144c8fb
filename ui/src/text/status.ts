/** The shape and colour of each status. The word is the one of the API; only `paused` and `needs approval` are said instead of it. */
import type { Job, Run } from '../api/types'
import { countsOf } from './bars'

export type Shape = 'dashed' | 'arc' | 'retry' | 'funnel' | 'bars' | 'person' | 'tick' | 'half' | 'warning' | 'clock' | 'cross' | 'error' | 'question' | 'dash' | 'slash' | 'square' | 'back'
export type Tone = 'muted' | 'run' | 'warn' | 'pass' | 'fail' | 'error'

const FAMILIES: readonly [shape: Shape, tone: Tone, words: string][] = [
  ['dashed', 'muted', 'pending queueing queued init rollback_pending draft dispatched planned undecided blocked idle inconclusive'],
  ['arc', 'run', 'processing running logged slicing ready executing sending intent'],
  ['retry', 'run', 'retrying retry_pending waits retried connecting'],
  ['funnel', 'run', 'draining'],
  ['bars', 'warn', 'paused budget'],
  ['person', 'warn', 'needs_approval'],
  ['tick', 'pass', 'success completed succeeded pass passed verified alive ok done live resulted reused'],
  ['half', 'warn', 'mixed'],
  ['warning', 'warn', 'partial_fail partial underpowered warning warn attention'],
  ['clock', 'warn', 'late stalled'],
  ['cross', 'fail', 'failed fail rollback_fail regression silent critical failing'],
  ['error', 'error', 'error infrastructure rejected'],
  ['question', 'error', 'unknown lost'],
  ['dash', 'muted', 'skipped up_to_date'],
  ['slash', 'muted', 'not_applicable'],
  ['square', 'muted', 'terminal terminated terminating system_terminated system_terminating cancel cancelled cancelling'],
  ['back', 'muted', 'rollback_running rollback_success'],
]

const LOOKS = new Map(FAMILIES.flatMap(([shape, tone, words]) => words.split(' ').map((word) => [word, { shape, tone }] as const)))

export function lookOf(status: string): { shape: Shape; tone: Tone } {
  return LOOKS.get(status.toLowerCase().replaceAll(' ', '_')) ?? { shape: 'dashed', tone: 'muted' }
}

export function needsApproval(run: Run): boolean {
  const rollout = run.rollout
  if (!rollout || run.ended_at || rollout.plan.approval === 'never' || rollout.halted) return false
  const next = rollout.wave + 1
  const asks = rollout.plan.approval === 'each' || rollout.wave === 1
  return asks && next <= rollout.waves && (rollout.approved ?? 0) < next && !!rollout.settled_at
}

/** A paused experiment is `pending` in the API; here it says that it waits for a person. */
export function statusOf(run: Run): string {
  if (run.state === 'paused') return 'paused'
  return needsApproval(run) ? 'needs approval' : run.status
}

export function isLive(job: Job): boolean {
  return job.state === 'live'
}

export function isFailed(job: Job): boolean {
  const { state } = job.latest_run
  const items = countsOf(job)
  return state === 'failed' || state === 'system_terminated' || (!isLive(job) && items.failed > 0)
}

export function needsPerson(job: Job): boolean {
  return job.latest_run.state === 'paused' || needsApproval(job.latest_run)
}
