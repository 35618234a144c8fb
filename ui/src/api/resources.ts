/** What pages read, each request once, with the events that change it. */
import { of } from './query.svelte'
import type { Event, Job, JobDetail, Run } from './types'

/** A job by the name in an address, or by its id. */
const isJob = (event: Event, job: { id: string }) => event.job === job.id
/** Events after which more than counts has changed. */
const isChange = (event: Event) => event.kind !== 'run_progress'

function countsOf(event: Event): Run['items'] | undefined {
  const body = event.body as { counts?: Run['items'] } | null
  return body?.counts
}

function advance(event: Event, run: Run): Run {
  const counts = event.run === run.id ? countsOf(event) : undefined
  return counts ? { ...run, items: { ...run.items, ...counts } } : run
}

/** Of all items of a job, by what one run of it has done. A plan that grows is read again. */
function advanceAll(all: Run['items'], before: Run['items'], now: Run['items']): Run['items'] {
  if (before.total !== now.total) return all
  const moved = (Object.keys(all) as (keyof Run['items'])[]).map((state) => [state, all[state] + now[state] - before[state]])
  return { ...all, ...Object.fromEntries(moved), total: all.total }
}

/** Changes the counts of a job and of its latest run. */
export function advanceJob<T extends Job>(event: Event, job: T): T {
  if (!isJob(event, job)) return job
  const latest_run = advance(event, job.latest_run)
  return latest_run === job.latest_run ? job : { ...job, latest_run, items: advanceAll(job.items, job.latest_run.items, latest_run.items) }
}

export const JOBS_PAGE = 200

export const jobs = (before?: string) =>
  of('/api/v1/jobs', { query: { limit: JOBS_PAGE, before } }, {
    on: isChange,
    patch: (event, list) => (event.kind === 'run_progress' ? { ...list, jobs: list.jobs.map((job) => advanceJob(event, job)) } : list),
  })

export const job = (name: string) =>
  of('/api/v1/jobs/{job}', { path: { job: name } }, {
    on: (event, job) => isChange(event) && isJob(event, job),
    patch: (event, job: JobDetail) => ({ ...advanceJob(event, job), runs: job.runs.map((run) => advance(event, run)) }),
  })

export const why = (name: string, id: string | undefined) =>
  of('/api/v1/jobs/{job}/why', { path: { job: name } }, { on: (event) => event.job === id, atMostEveryMs: 5_000 })

export const logs = (name: string, id: string | undefined, after?: number) =>
  of('/api/v1/jobs/{job}/logs', { path: { job: name }, query: { limit: 1000, after } }, { on: (event) => event.job === id })

/** What happened to a job and its runs, newest first; without lines about single items, however many there are. */
export const runLog = (name: string, id: string | undefined) =>
  of('/api/v1/jobs/{job}/logs', { path: { job: name }, query: { newest: true, items: false, limit: 1000 } }, { on: (event) => event.job === id && isChange(event) })

export const result = (run: string) => of('/api/v1/runs/{run}/result', { path: { run }, query: { worst: 5 } }, { on: (event) => event.run === run && isChange(event) })

export const trends = (name: string, id: string | undefined) => of('/api/v1/jobs/{job}/trends', { path: { job: name } }, { on: (event) => event.job === id && isChange(event) })

export const item = (id: string, job: string) => of('/api/v1/items/{item}', { path: { item: Number(id) } }, { on: (event) => event.job === job })

/** What the last runs made of an item. */
export const itemHistory = (id: string, job: string) => of('/api/v1/items/{item}/history', { path: { item: Number(id) }, query: { limit: 20 } }, { on: (event) => event.job === job && isChange(event), atMostEveryMs: 2_000 })

/** How far evaluators agree with people. Labels are no event: whoever labels reads it again. */
export const agreement = (job: string) => of('/api/v1/jobs/{job}/agreement', { path: { job } })

export const targets = (name: string, id: string | undefined) =>
  of('/api/v1/jobs/{job}/targets', { path: { job: name }, query: { limit: 1000 } }, { on: (event) => event.job === id })

/** The numbers of a whole ingest run; the server reads every slice for them. */
export const ingestResult = (run: string) => of('/api/v1/runs/{run}/result', { path: { run }, query: { worst: 0 } }, { on: (event) => event.run === run, atMostEveryMs: 10_000 })

export const datasets = () => of('/api/v1/datasets', {})
export const dataset = (name: string, version?: number, rows = 100) => of('/api/v1/datasets/{name}', { path: { name }, query: { version, rows } })
export const datasetDiff = (name: string, old: number, now: number) => of('/api/v1/datasets/{name}/diff', { path: { name }, query: { old, new: now, limit: 100 } })

/** The server does not push these. */
export const nodes = () => of('/api/v1/nodes', {}, { everyMs: 2_000 })
export const alerts = (before?: string) => of('/api/v1/alerts', { query: { before } }, { everyMs: 15_000 })
export const workers = () => of('/api/v1/workers', {}, { everyMs: 5_000 })
export const health = () => of('/api/v1/health', {}, { everyMs: 10_000 })
/** The findings of one job. */
export const healthOf = (job: string) => of('/api/v1/health', { query: { job } }, { everyMs: 10_000 })
export const limits = (before?: string) => of('/api/v1/limits', { query: { before, limit: 200 } }, { everyMs: 5_000, on: isChange, atMostEveryMs: 1_000 })
export const jobStats = (name: string, id: string | undefined) =>
  of('/api/v1/jobs/{job}/stats', { path: { job: name } }, { on: (event) => event.job === id, atMostEveryMs: 5_000 })
export const stats = () => of('/api/v1/stats', {}, { on: isChange })
/** One slice with all its attempts and so many of their newest batches. */
export const slice = (run: string, name: string, batches: number) => of('/api/v1/runs/{run}/lineage', { path: { run }, query: { slice: name, limit: 1, batches } }, { on: (event) => event.run === run, atMostEveryMs: 2_000 })
export const checkpoints = (name: string, id: string, slice: string) =>
  of('/api/v1/jobs/{job}/checkpoints', { path: { job: name }, query: { slice, limit: 200 } }, { on: (event) => event.job === id, atMostEveryMs: 2_000 })
export const schedules = () => of('/api/v1/schedules', { query: { limit: 1000 } }, { on: isChange })
export type Outcome = 'done' | 'refused' | 'failed'
export interface AuditFilter {
  actor?: string | undefined
  what?: string | undefined
  outcome?: Outcome | undefined
  since?: string | undefined
  until?: string | undefined
  before?: number | undefined
}
export const audit = (filter: AuditFilter) => of('/api/v1/audit', { query: { ...filter, limit: 500 } }, { on: isChange, atMostEveryMs: 5_000 })
export const webhooks = () => of('/api/v1/webhooks', {})
export const deliveries = (webhook: string, state?: 'pending' | 'delivered' | 'failed', before?: number) => of('/api/v1/webhooks/{webhook}/deliveries', { path: { webhook }, query: { state, before, limit: 200 } }, { on: isChange, atMostEveryMs: 2_000 })
export const keys = () => of('/api/v1/keys', {})
export const secrets = () => of('/api/v1/secrets', {})
export const backups = () => of('/api/v1/backups', {})
