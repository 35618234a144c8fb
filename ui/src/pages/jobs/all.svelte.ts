/** All jobs, page by page: the first at once, the others after it. Each follows the events of its runs. */
import { expectedError, type Rejected } from '../../api/errors'
import { live } from '../../api/live.svelte'
import { query } from '../../api/query.svelte'
import { request } from '../../api/request'
import { advanceJob, jobs, JOBS_PAGE } from '../../api/resources'
import type { Event, Job } from '../../api/types'

const MOST = 20_000
const PAGE = 1_000
const AGAIN_MS = 500

export function allJobs() {
  const first = query(() => jobs())
  let older = $state.raw<readonly Job[]>([])
  let complete = $state(false)
  const known = $derived(first.value !== undefined)
  const next = $derived(first.value && first.value.jobs.length === JOBS_PAGE ? first.value.next : undefined)
  /** Older jobs of which more than counts has changed. */
  const changed = new Set<string>()
  let timer = 0

  $effect(() => {
    let wanted = true
    complete = known && !next
    void (async () => {
      let before = next
      const found: Job[] = []
      while (before && wanted && found.length < MOST) {
        const page = await request('get', '/api/v1/jobs', { query: { limit: PAGE, before } })
        if (!wanted) return
        found.push(...page.jobs)
        older = [...found]
        before = page.jobs.length === PAGE ? page.next : undefined
      }
      complete = known && !before
    })().catch(expectedError)
    return () => (wanted = false)
  })

  $effect(() => {
    const stop = live.listen(hear)
    return () => (stop(), clearTimeout(timer))
  })

  function hear(event: Event) {
    if (!older.some((job) => job.id === event.job)) return
    if (event.kind === 'run_progress') return void (older = older.map((job) => advanceJob(event, job)))
    changed.add(event.job!)
    timer ||= window.setTimeout(() => void again().catch(expectedError), AGAIN_MS)
  }

  async function again() {
    const ids = [...changed]
    changed.clear()
    timer = 0
    for (const id of ids) {
      const read = await request('get', '/api/v1/jobs/{job}', { path: { job: id } }).catch((error: unknown) => {
        if ((expectedError(error) as Rejected).status !== 404) throw error
      })
      older = read ? older.map((job) => (job.id === id ? read : job)) : older.filter((job) => job.id !== id)
    }
  }

  return {
    get list() {
      const seen = new Set(first.value?.jobs.map((job) => job.id))
      return [...(first.value?.jobs ?? []), ...older.filter((job) => !seen.has(job.id))]
    },
    get complete() {
      return complete
    },
    get loading() {
      return first.loading
    },
    get error() {
      return first.value ? undefined : first.error
    },
    refresh: () => first.refresh(),
  }
}
