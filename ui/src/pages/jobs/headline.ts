/** What came out of a job's latest run, in a few words, from the list alone. */
import type { Job } from '../../api/types'
import { settled } from '../../text/bars'
import { count } from '../../text/number'
import { needsApproval } from '../../text/status'

export function headline(job: Job): string {
  const { items, rollout, reason, spent } = job.latest_run
  if (needsApproval(job.latest_run)) return `wave ${(rollout?.wave ?? 0) + 1} of ${rollout?.waves} waits for approval`
  if (reason) return reason
  const noun = { operation: 'targets', ingest: 'slices' }[job.kind] ?? 'items'
  if (job.state === 'live') return `${count(settled(items))} of ${count(items.total)} ${noun} done${items.failed > 0 ? `, ${count(items.failed)} failed` : ''}`
  if (items.failed > 0) return `${count(items.failed)} of ${count(items.total)} ${noun} failed`
  if (job.kind === 'experiment') return `${count(spent.tokens_in + spent.tokens_out)} tokens`
  return items.skipped > 0 ? `${count(items.skipped)} skipped` : ''
}
