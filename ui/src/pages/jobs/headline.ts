/** What came out of a job's latest run, in a few words, from the list alone. */
import type { Job, Run } from '../../api/types'
import { countsOf, settled } from '../../text/bars'
import { count, score } from '../../text/number'
import { needsApproval } from '../../text/status'

const SHOWN = 2

/** Means with half of their 95 % interval. The run of a retry has the scores of its items only. */
function scores({ aggregates, mode }: Run): string | undefined {
  const found = Object.entries(aggregates?.evaluators ?? {}).filter(([, summary]) => typeof summary.mean === 'number')
  if (found.length === 0) return undefined
  const texts = found.slice(0, SHOWN).map(([name, { mean, mean_interval: range }]) => `${name} ${score(mean)}${range ? ` ± ${score((range.high - range.low) / 2)}` : ''}`)
  const n = Math.max(...found.map(([, summary]) => summary.rows ?? summary.n))
  return `${texts.join(', ')}${found.length > SHOWN ? ` and ${found.length - SHOWN} more` : ''} · n ${count(n)}${mode === 'submit' ? '' : ` in this ${mode.replaceAll('_', ' ')}`}`
}

export function headline(job: Job): string {
  const { rollout, reason, spent } = job.latest_run
  const items = countsOf(job)
  if (needsApproval(job.latest_run)) return `wave ${(rollout?.wave ?? 0) + 1} of ${rollout?.waves} waits for approval`
  if (reason) return reason
  const noun = { operation: 'targets', ingest: 'slices' }[job.kind] ?? 'items'
  if (job.state === 'live') return `${count(settled(items))} of ${count(items.total)} ${noun} done${items.failed > 0 ? `, ${count(items.failed)} failed` : ''}`
  const failed = items.failed > 0 ? `${count(items.failed)} of ${count(items.total)} ${noun} failed` : undefined
  const judged = scores(job.latest_run)
  if (failed || judged) return [judged, failed].filter(Boolean).join(' · ')
  if (job.kind === 'experiment') return `${count(spent.tokens_in + spent.tokens_out)} tokens`
  return items.skipped > 0 ? `${count(items.skipped)} skipped` : ''
}
