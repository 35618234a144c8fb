/** All jobs, page by page: the first at once, the others after it. New runs appear when the first page is read again. */
import { query } from '../../api/query.svelte'
import { request } from '../../api/request'
import { jobs, JOBS_PAGE } from '../../api/resources'
import type { Job } from '../../api/types'

const MOST = 5_000

export function allJobs() {
  const first = query(() => jobs())
  let older = $state.raw<readonly Job[]>([])
  let complete = $state(false)
  const next = $derived(first.value && first.value.jobs.length === JOBS_PAGE ? first.value.next : undefined)

  $effect(() => {
    let wanted = true
    void (async () => {
      let before = next
      const found: Job[] = []
      while (before && wanted && found.length < MOST) {
        const page = await request('get', '/api/v1/jobs', { query: { limit: 1000, before } })
        found.push(...page.jobs)
        older = [...found]
        before = page.jobs.length === 1000 ? page.next : undefined
      }
      complete = !before
    })().catch(() => undefined)
    return () => (wanted = false)
  })

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
