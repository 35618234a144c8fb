/** What was spent since midnight: by the runs of each job that was active today. The list of jobs has latest runs only. */
import { untrack } from 'svelte'
import { expectedError } from '../../api/errors'
import { request } from '../../api/request'
import type { Job, Run } from '../../api/types'
import { jobKey } from '../../text/links'

export interface Spent {
  job: Job
  nanos: number
  tokens: number
}

const midnight = () => new Date().setHours(0, 0, 0, 0)
const isToday = (run: Run) => Date.parse(run.ended_at ?? new Date().toISOString()) >= midnight()
const sumOf = (job: Job, runs: readonly Run[]): Spent => ({
  job,
  nanos: runs.reduce((sum, run) => sum + run.spent.cost_nanos, 0),
  tokens: runs.reduce((sum, run) => sum + run.spent.tokens_in + run.spent.tokens_out, 0),
})

export function spentToday(jobs: () => readonly Job[]) {
  const today = $derived(jobs().filter((job) => isToday(job.latest_run)))
  /** Runs before the latest one never change; they are read once. */
  let earlier = $state.raw(new Map<string, readonly Run[]>())
  const asked = new Set<string>()
  const idOf = (job: Job) => `${job.id}#${job.latest_run.no}`

  $effect(() => {
    const wanted = today.filter((job) => job.latest_run.no > 1 && !asked.has(idOf(job)))
    untrack(() => wanted.forEach((job) => void read(job)))
  })

  async function read(job: Job) {
    asked.add(idOf(job))
    try {
      const { runs } = await request('get', '/api/v1/jobs/{job}/runs', { path: { job: jobKey(job) } })
      earlier = new Map(earlier).set(idOf(job), runs.filter((run) => run.no < job.latest_run.no && isToday(run)))
    } catch (error) {
      // A job that was deleted meanwhile counts as its latest run.
      expectedError(error)
    }
  }

  return {
    get list(): Spent[] {
      return today.map((job) => sumOf(job, [job.latest_run, ...(earlier.get(idOf(job)) ?? [])])).filter((entry) => entry.nanos > 0).sort((a, b) => b.nanos - a.nanos)
    },
  }
}
