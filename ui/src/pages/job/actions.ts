/** Actions on jobs: the request of each, and what is said when it was sent. */
import { request } from '../../api/request'
import type { Job } from '../../api/types'
import { toasts } from '../../parts/toasts.svelte'
import { jobHref, jobKey } from '../../text/links'

type Named = Pick<Job, 'id' | 'name' | 'workspace'>

export type Steering = 'pause' | 'resume' | 'cancel' | 'terminate' | 'drain'

const SAID: Record<Steering, string> = {
  pause: 'is pausing; running items finish',
  resume: 'resumes',
  cancel: 'is being cancelled; running items finish',
  terminate: 'is being terminated',
  drain: 'is draining',
}

/** Sends it; throws if it is rejected. */
export async function steer(job: Named, action: Steering, body: object = {}) {
  await request('post', `/api/v1/jobs/{job}/${action}`, { path: { job: jobKey(job) }, json: body })
}

/** Sends it and says so. */
export async function act(job: Named, action: Steering) {
  try {
    await steer(job, action)
    toasts.say(`${job.name} ${SAID[action]}`)
  } catch (error) {
    toasts.fail(error)
  }
}

export async function retry(job: Job, body: object = {}) {
  const started = await request('post', '/api/v1/jobs/{job}/retry', { path: { job: jobKey(job) }, json: body })
  toasts.say(`Retry of ${job.name} started`, { href: jobHref(job), title: 'Show' })
  return started
}

/** With the evaluators of this job file, or with those of the latest run. */
export async function rescore(job: Job, file?: string) {
  await request('post', '/api/v1/jobs/{job}/rescore', { path: { job: jobKey(job) }, json: file === undefined ? {} : { file } })
  toasts.say(`Rescore of ${job.name} started`)
}

export async function rollback(job: Job, body: { items?: number[]; wave?: number; force?: boolean } = {}) {
  await request('post', '/api/v1/jobs/{job}/rollback', { path: { job: jobKey(job) }, json: body })
  toasts.say(`Rollback of ${job.name} started`, { href: jobHref(job), title: 'Show' })
}

export async function approve(job: Job, wave: number) {
  await request('post', '/api/v1/jobs/{job}/approve', { path: { job: jobKey(job) }, json: { wave } })
  toasts.say(`Wave ${wave} of ${job.name} approved`)
}

export async function remove(job: Job) {
  await request('delete', '/api/v1/jobs/{job}', { path: { job: jobKey(job) } })
  toasts.say(`Deleted ${job.name}`)
}

export async function schedule(job: Job, cron: string, paused = false) {
  await request('put', '/api/v1/jobs/{job}/schedule', { path: { job: jobKey(job) }, json: { cron, paused } })
  toasts.say(paused ? `The schedule of ${job.name} is paused` : `Scheduled ${job.name}`)
}

export async function unschedule(job: Job) {
  await request('delete', '/api/v1/jobs/{job}/schedule', { path: { job: jobKey(job) } })
  toasts.say(`Removed the schedule of ${job.name}`)
}
