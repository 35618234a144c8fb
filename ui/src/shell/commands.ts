/** What the palette finds: pages, jobs, datasets, and actions that the caller may do. */
import { server } from '../api/server.svelte'
import type { DatasetSummary, Job } from '../api/types'
import { live } from '../api/live.svelte'
import type { IconName } from '../parts/icons'
import { countsOf } from '../text/bars'
import { jobHref, kindIcon } from '../text/links'
import { statusOf } from '../text/status'
import { act } from '../pages/job/actions'
import { PAGES } from '../pages'
import { shell } from './shell.svelte'
import { theme } from './theme.svelte'

export interface Command {
  group: string
  title: string
  icon: IconName
  note?: string
  href?: string
  act?: () => void
}

const SHOWN_PER_GROUP = 7

/** What the caller may do with a job now. */
function actionsOn(job: Job): Command[] {
  const { state } = job.latest_run
  const items = countsOf(job)
  const group = 'Actions'
  const asks = (what: string) => `${jobHref(job)}?do=${what}`
  if (job.state === 'live') {
    const paused = state === 'paused'
    return [
      { group, title: `${paused ? 'Resume' : 'Pause'} ${job.name}`, icon: paused ? 'play' : 'pause', act: () => void act(job, paused ? 'resume' : 'pause') },
      { group, title: `Cancel ${job.name}…`, icon: 'stop', href: asks('cancel') },
    ]
  }
  return [
    ...(items.failed + items.cancelled > 0 ? [{ group, title: `Retry ${job.name}…`, icon: 'retry' as const, href: asks('retry') }] : []),
    ...(job.kind === 'experiment' ? [{ group, title: `Rescore ${job.name}…`, icon: 'retry' as const, href: asks('rescore') }] : []),
  ]
}

export function commandsFor(jobs: readonly Job[], datasets: readonly DatasetSummary[], text: string): Command[] {
  const pages = PAGES.filter((page) => !page.path.includes(':')).map((page) => ({ group: 'Pages', title: page.title, icon: 'right' as const, href: page.path }))
  return [
    ...jobs.map((job) => ({ group: 'Jobs', title: job.name, icon: kindIcon(job.kind), note: `${statusOf(job.latest_run)} · run ${job.latest_run.no}`, href: jobHref(job) })),
    ...datasets.map((dataset) => ({ group: 'Datasets', title: dataset.name, icon: 'dataset' as const, note: `version ${dataset.newest.version}`, href: `/datasets/${encodeURIComponent(dataset.name)}` })),
    ...pages.filter((page) => page.href !== '/jobs/new' && page.href !== '/compare'),
    ...(server.may('operator') ? [{ group: 'Actions', title: 'New job', icon: 'plus' as const, href: '/jobs/new' }] : []),
    ...(server.may('operator') && text.trim() !== '' ? jobs.flatMap(actionsOn) : []),
    { group: 'Actions', title: live.paused ? 'Resume live updates' : 'Pause live updates', icon: 'pause', act: () => (live.paused = !live.paused) },
    { group: 'Actions', title: 'Switch theme', icon: 'sun', note: theme.current, act: () => theme.next() },
    { group: 'Actions', title: 'Keyboard shortcuts', icon: 'code', act: () => (shell.help = true) },
  ]
}

/** Commands that contain every word, at most some of each group. */
export function search(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = commands.filter((command) => words.every((word) => `${command.title} ${command.note ?? ''}`.toLowerCase().includes(word)))
  const counts = new Map<string, number>()
  return fits.filter((command) => {
    const n = (counts.get(command.group) ?? 0) + 1
    counts.set(command.group, n)
    return n <= SHOWN_PER_GROUP
  })
}
