/** Filters and sorts the list of jobs. Words match name, status, kind and labels; `field:value` matches one of them. */
import type { Job } from '../../api/types'
import { countsOf } from '../../text/bars'
import { isFailed, isLive, needsPerson, statusOf } from '../../text/status'

export type TabId = 'all' | 'running' | 'person' | 'failed' | 'finished' | 'scheduled'
export type Sort = 'worry' | 'newest' | 'name' | 'items' | 'spent'

export const TABS: readonly { id: TabId; title: string; holds: (job: Job) => boolean }[] = [
  { id: 'all', title: 'All', holds: () => true },
  { id: 'running', title: 'Running', holds: isLive },
  { id: 'person', title: 'Needs a person', holds: needsPerson },
  { id: 'failed', title: 'Failed', holds: isFailed },
  { id: 'finished', title: 'Finished', holds: (job) => !isLive(job) },
  { id: 'scheduled', title: 'Scheduled', holds: (job) => !!job.schedule },
]

const FIELDS = ['name', 'status', 'kind', 'by', 'service', 'environment', 'region', 'workspace'] as const
export const NAMES = FIELDS.map((field) => `${field}:`)

function valuesOf(job: Job): Record<string, string> {
  const { creator, service, environment, region } = job.labels
  return { name: job.name, status: statusOf(job.latest_run), kind: job.kind, by: creator ?? '', service: service ?? '', environment: environment ?? '', region: region ?? '', workspace: job.workspace }
}

/** A filter, or why it cannot be used. */
export function parse(text: string): { holds: (job: Job) => boolean } | { error: string } {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean).map((term) => term.split(':') as [string, string?])
  const unknown = terms.find(([field, value]) => value !== undefined && !FIELDS.includes(field as (typeof FIELDS)[number]))
  if (unknown) return { error: `Unknown field ${unknown[0]}. Fields: ${FIELDS.join(', ')}.` }
  return {
    holds: (job) => {
      const values = valuesOf(job)
      const all = Object.values(values).join(' ').toLowerCase()
      return terms.every(([field, value]) => (value === undefined ? all.includes(field) : (values[field] ?? '').toLowerCase().includes(value)))
    },
  }
}

const touched = (job: Job) => Date.parse(job.latest_run.ended_at ?? job.latest_run.created_at)
const worry = (job: Job) => (needsPerson(job) ? 0 : isFailed(job) ? 1 : isLive(job) ? 2 : 3)
const ORDERS: Record<Sort, (a: Job, b: Job) => number> = {
  worry: (a, b) => worry(a) - worry(b) || touched(b) - touched(a),
  newest: (a, b) => touched(b) - touched(a),
  name: (a, b) => a.name.localeCompare(b.name),
  items: (a, b) => countsOf(b).total - countsOf(a).total,
  spent: (a, b) => b.latest_run.spent.cost_nanos - a.latest_run.spent.cost_nanos,
}

export const SORTS: readonly { id: Sort; title: string }[] = [
  { id: 'worry', title: 'needs a person, failed, newest' },
  { id: 'newest', title: 'newest first' },
  { id: 'name', title: 'name' },
  { id: 'items', title: 'most items' },
  { id: 'spent', title: 'most spent' },
]

export function sorted(jobs: readonly Job[], sort: string): Job[] {
  return [...jobs].sort((ORDERS as Record<string, (a: Job, b: Job) => number>)[sort] ?? ORDERS.worry)
}
