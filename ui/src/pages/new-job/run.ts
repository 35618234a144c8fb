/** Starts a run of a job file. */
import { request } from '../../api/request'
import { toasts } from '../../parts/toasts.svelte'

export interface Started {
  href: string
}

export async function runJob(file: string, first?: number): Promise<Started> {
  // A second press of the button returns the first run.
  const headers = { 'Idempotency-Key': `ui-${crypto.getRandomValues(new Uint32Array(4)).join('-')}` }
  const started = await request('post', '/api/v1/jobs', { json: { file, ...(first ? { first } : {}) }, headers, timeoutMs: 120_000 })
  for (const warning of started.warnings) toasts.say(warning)
  toasts.say(first ? `${started.name}: running the first ${first} rows` : `${started.name} started`)
  return { href: `/jobs/${encodeURIComponent(started.job)}` }
}
