/** Addresses of things, and their icons. */
import { server } from '../api/server.svelte'
import type { Job } from '../api/types'
import type { IconName } from '../parts/icons'

/** By name; jobs of other workspaces, which a name does not reach, by id. */
export function jobKey(job: Pick<Job, 'id' | 'name' | 'workspace'>): string {
  const reached = job.workspace === (server.caller?.workspace ?? 'default') && job.name !== 'new'
  return reached ? job.name : job.id
}

export function jobHref(job: Pick<Job, 'id' | 'name' | 'workspace'>): string {
  return `/jobs/${encodeURIComponent(jobKey(job))}`
}

export function kindIcon(kind: string): IconName {
  return kind === 'operation' || kind === 'ingest' ? kind : 'experiment'
}
