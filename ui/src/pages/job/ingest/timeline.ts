/** What happened to an ingest job, and who did it: runs, checkpoint edits, changes of schema and definition. */
import type { components } from '../../../api/schema'
import type { JobDetail, Run } from '../../../api/types'
import type { IconName } from '../../../parts/icons'
import { router } from '../../../router.svelte'
import { took } from '../../../text/time'
import { fetchedOf, type Slice } from './stats'

type Line = components['schemas']['LogLine']
type Checkpoint = components['schemas']['CheckpointView']

export interface Moment {
  at: number
  icon: IconName
  text: string
  note: string
  href?: string
  /** A run has its status instead of an icon. */
  status?: string
}

export interface Span {
  from: number
  to: number
  status: string
  title: string
  href: string
}

/** Lines of the log that say what was done; runs have their own entries. */
const DONE: Record<string, [text: string, icon: IconName]> = {
  scheduled: ['Schedule set', 'calendar'],
  unscheduled: ['Schedule removed', 'calendar'],
  pinned: ['Pinned', 'lock'],
  unpinned: ['Unpinned', 'lock'],
  pause: ['Paused', 'pause'],
  resume: ['Resumed', 'play'],
  cancel: ['Cancelled', 'stop'],
  terminate: ['Terminated', 'stop'],
  amended: ['Limits changed', 'dollar'],
  checkpoint_edited: ['Checkpoint edited', 'back'],
  checkpoint_restored: ['Checkpoint restored', 'back'],
  rejected_replayed: ['Rejected records replayed', 'retry'],
}

const ms = (time: string) => Date.parse(time)

export function runMoments(job: JobDetail, log: readonly Line[]): Moment[] {
  const who = new Map(log.filter((line) => line.event === 'submitted').map((line) => [line.run, line.actor]))
  const runs = [...job.runs].sort((a, b) => a.no - b.no)
  return runs.flatMap((run, n) => {
    const by = who.get(run.id)
    const before = runs[n - 1]
    const name = `Run ${run.no}${run.mode === 'submit' ? '' : `, ${run.mode}`}`
    const found: Moment[] = [{ at: ms(run.created_at), icon: 'play', text: name, status: run.status, note: `${run.status}${run.duration_ms ? ` · took ${took(run.duration_ms)}` : ''}${by ? ` · by ${by}` : ''}`, href: router.with({ run: run.no, slice: '', attempt: '' }) }]
    if (before && before.spec_hash !== run.spec_hash) found.push({ at: ms(run.created_at), icon: 'code', text: 'Definition changed', note: `${before.spec_hash.slice(0, 8)} → ${run.spec_hash.slice(0, 8)}${by ? ` · by ${by}` : ''}`, href: router.with({ tab: 'definition' }) })
    return found
  })
}

/** `slice`: the one whose checkpoints are read; they have its changes. */
export function logMoments(log: readonly Line[], slice: string | undefined): Moment[] {
  const isRead = (line: Line) => slice !== undefined && /^checkpoint_/.test(line.event) && line.message.startsWith(`slice ${JSON.stringify(slice)},`)
  return log.flatMap((line) => {
    const [text, icon] = DONE[line.event] ?? []
    return text && icon && !isRead(line) ? [{ at: ms(line.at), icon, text, note: `${line.message ? `${line.message} · ` : ''}by ${line.actor}`, href: router.with({ tab: 'log' }) }] : []
  })
}

export function checkpointMoments(slice: string, checkpoints: readonly Checkpoint[]): Moment[] {
  const words: Record<string, string> = { edit: 'edited', restore: 'restored' }
  const edits = checkpoints.filter((entry) => words[entry.cause])
  return edits.map((edit) => ({ at: ms(edit.at), icon: 'back' as const, text: `Checkpoint of ${slice} ${words[edit.cause]}`, note: `version ${edit.version} · by ${edit.actor}`, href: router.with({ version: edit.version }) }))
}

/** Each change of a column once, when it was first met. */
export function schemaMoments(slices: readonly Slice[]): Moment[] {
  const found = new Map<string, Moment>()
  for (const slice of slices) {
    for (const attempt of slice.task.runs) {
      for (const change of attempt.type_changes ?? []) {
        const batch = attempt.batches.find((entry) => entry.type_changes?.some((one) => one.column === change.column))
        const at = ms(batch?.committed_at ?? attempt.ended_at ?? attempt.started_at ?? '')
        const text = `Schema: ${change.table}.${change.column} ${change.from} → ${change.to}, ${change.action}`
        const known = found.get(text)
        if (!Number.isNaN(at) && (!known || known.at > at)) found.set(text, { at, icon: 'code', text, note: `by the source, slice ${slice.name} · ${change.records.toLocaleString('en')} records`, href: router.with({ slice: slice.name }) })
      }
    }
  }
  return [...found.values()]
}

export function runSpans(runs: readonly Run[], now: number): Span[] {
  return runs.map((run) => ({ from: ms(run.created_at), to: run.ended_at ? ms(run.ended_at) : now, status: run.status, title: `Run ${run.no} ${run.status}`, href: router.with({ run: run.no, slice: '', attempt: '' }) }))
}

const spent = (slice: Slice, now: number) => slice.task.runs.reduce((sum, attempt) => sum + (attempt.started_at ? (attempt.ended_at ? ms(attempt.ended_at) : now) - ms(attempt.started_at) : 0), 0)

/** The attempts of the slice that took longest. */
export function slowestSpans(slices: readonly Slice[], now: number): Span[] {
  const slowest = slices.reduce<Slice | undefined>((worst, slice) => (!worst || spent(slice, now) > spent(worst, now) ? slice : worst), undefined)
  if (!slowest) return []
  return slowest.task.runs.flatMap((attempt) => (attempt.started_at ? [{ from: ms(attempt.started_at), to: attempt.ended_at ? ms(attempt.ended_at) : now, status: attempt.status, title: `${slowest.name}, attempt ${attempt.attempt_no}`, href: router.with({ slice: slowest.name, attempt: attempt.attempt_no }) }] : []))
}

/** Records per second in each of so many equal parts of the time. */
export function throughput(slices: readonly Slice[], from: number, to: number, parts: number, now: number): number[] {
  const sums = new Array<number>(parts).fill(0)
  const width = (to - from) / parts
  const add = (start: number, end: number, records: number) => {
    const length = Math.max(end - start, 1)
    for (let n = Math.max(0, Math.floor((start - from) / width)); n < parts && from + n * width < end; n++) {
      const overlap = Math.min(end, from + (n + 1) * width) - Math.max(start, from + n * width)
      if (overlap > 0) sums[n]! += records * (overlap / length)
    }
  }
  for (const attempt of slices.flatMap((slice) => slice.task.runs)) {
    if (!attempt.started_at) continue
    const batches = attempt.batches.filter((batch) => batch.committed_at).sort((a, b) => a.batch_no - b.batch_no)
    const listed = batches.reduce((sum, batch) => sum + fetchedOf(batch.stats), 0)
    // Batches that are listed stand where they were committed; those before them are spread evenly.
    let last = ms(attempt.started_at)
    if (batches.length > 0 && batches.length < attempt.batch_count && batches[0]!.committed_at) {
      const first = ms(batches[0]!.committed_at)
      add(last, first, fetchedOf(attempt.stats) - listed)
      last = first
    } else if (batches.length === 0) add(last, attempt.ended_at ? ms(attempt.ended_at) : now, fetchedOf(attempt.stats))
    for (const batch of batches) {
      const at = ms(batch.committed_at!)
      add(Math.min(last, at - 1), at, fetchedOf(batch.stats))
      last = at
    }
  }
  return sums.map((sum) => sum / Math.max(width / 1_000, 0.001))
}
