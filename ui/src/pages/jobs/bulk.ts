/** Actions on several jobs: what each would touch, and how it is carried out. */
import { expectedError, Rejected } from '../../api/errors'
import type { Job } from '../../api/types'
import type { IconName } from '../../parts/icons'
import { toasts } from '../../parts/toasts.svelte'
import { countsOf } from '../../text/bars'
import { counted } from '../../text/number'
import { remove, retry, steer } from '../job/actions'

export interface Bulk {
  id: string
  title: string
  icon: IconName
  danger?: true
  ask: (jobs: readonly Job[]) => string
  /** What it does to a job; nothing if it does not apply. */
  touches: (job: Job) => string | undefined
  /** Why it does not apply. */
  none: string
  note: string
  act: (job: Job) => Promise<unknown>
}

const open = (job: Job) => job.state === 'live'
const failed = (job: Job) => countsOf(job).failed + countsOf(job).cancelled
const sum = (jobs: readonly Job[], of: (job: Job) => number) => jobs.reduce((total, job) => total + of(job), 0)
const noun = (job: Job) => (job.kind === 'operation' ? 'target' : job.kind === 'ingest' ? 'slice' : 'item')

export const BULK: readonly Bulk[] = [
  {
    id: 'retry', title: 'Retry failed', icon: 'retry', none: 'nothing to retry',
    ask: (jobs) => `Retry ${counted(sum(jobs, failed), 'failed item')} of ${counted(jobs.length, 'job')}?`,
    touches: (job) => (!open(job) && failed(job) > 0 ? counted(failed(job), noun(job)) : undefined),
    note: 'Items that succeeded are kept and not repeated.',
    act: (job) => retry(job),
  },
  {
    id: 'pause', title: 'Pause', icon: 'pause', none: 'not running',
    ask: (jobs) => `Pause ${counted(jobs.length, 'job')}?`,
    touches: (job) => (open(job) && job.latest_run.state !== 'paused' ? `${counted(job.latest_run.items.queued, noun(job))} wait` : undefined),
    note: 'Running items finish; no new items start.',
    act: (job) => steer(job, 'pause'),
  },
  {
    id: 'resume', title: 'Resume', icon: 'play', none: 'not paused',
    ask: (jobs) => `Resume ${counted(jobs.length, 'job')}?`,
    touches: (job) => (job.latest_run.state === 'paused' ? `${counted(job.latest_run.items.queued, noun(job))} start` : undefined),
    note: 'Queued items start as soon as there are free worker slots.',
    act: (job) => steer(job, 'resume'),
  },
  {
    id: 'cancel', title: 'Cancel', icon: 'stop', none: 'not running',
    ask: (jobs) => `Cancel ${counted(sum(jobs, (job) => job.latest_run.items.queued), 'queued item')} of ${counted(jobs.length, 'job')}?`,
    touches: (job) => (open(job) ? `${counted(job.latest_run.items.queued, noun(job))} cancelled` : undefined),
    note: 'Running items finish. Results so far are kept; a retry runs the cancelled items.',
    act: (job) => steer(job, 'cancel'),
  },
  {
    id: 'delete', title: 'Delete', icon: 'trash', danger: true, none: 'has an active run',
    ask: (jobs) => `Delete ${counted(jobs.length, 'job')} with all results?`,
    touches: (job) => (open(job) ? undefined : `${counted(countsOf(job).total, noun(job))} with results and log`),
    note: 'Deleted results cannot be restored.',
    act: (job) => remove(job),
  },
]

/** One job after another. What was rejected is said, and does not stop the others. */
export async function carryOut(bulk: Bulk, jobs: readonly Job[]) {
  let rejected = 0
  let first: unknown
  for (const job of jobs) {
    try {
      await bulk.act(job)
    } catch (error) {
      if (!(expectedError(error) instanceof Rejected)) throw error
      rejected++
      first ??= error
    }
  }
  if (rejected > 0) toasts.fail(first)
  if (jobs.length > 1) toasts.say(`${bulk.title}: ${counted(jobs.length - rejected, 'job')}${rejected > 0 ? `, ${rejected} rejected` : ''}`)
}
