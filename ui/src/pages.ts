/** All pages. To add one, create a directory under `pages/` and add a line here. Pages are loaded when they are opened. */
import type { Component } from 'svelte'

export interface Page {
  /** `:name` stands for a part of the path, which the component gets as a property. */
  path: string
  title: string
  /** In the navigation. */
  nav?: true
  load: () => Promise<{ default: Component<Record<string, string>> }>
}

type Loaded = ReturnType<Page['load']>

export const PAGES: readonly Page[] = [
  { path: '/', title: 'Home', nav: true, load: () => import('./pages/home/Home.svelte') as Loaded },
  { path: '/jobs', title: 'Jobs', nav: true, load: () => import('./pages/jobs/Jobs.svelte') as Loaded },
  { path: '/jobs/new', title: 'New job', load: () => import('./pages/new-job/NewJob.svelte') as Loaded },
  { path: '/jobs/:job', title: 'Job', load: () => import('./pages/job/Job.svelte') as unknown as Loaded },
  { path: '/jobs/:job/trends', title: 'Trends', load: () => import('./pages/trends/Trends.svelte') as unknown as Loaded },
  { path: '/compare', title: 'Compare', load: () => import('./pages/compare/Compare.svelte') as Loaded },
  { path: '/datasets', title: 'Datasets', nav: true, load: () => import('./pages/datasets/Datasets.svelte') as Loaded },
  { path: '/datasets/:name', title: 'Dataset', load: () => import('./pages/dataset/Dataset.svelte') as unknown as Loaded },
  { path: '/nodes', title: 'Nodes', nav: true, load: () => import('./pages/nodes/Nodes.svelte') as Loaded },
  { path: '/schedules', title: 'Schedules', nav: true, load: () => import('./pages/schedules/Schedules.svelte') as Loaded },
  { path: '/health', title: 'Health', nav: true, load: () => import('./pages/health/HealthPage.svelte') as Loaded },
  { path: '/audit', title: 'Audit', nav: true, load: () => import('./pages/audit/Audit.svelte') as Loaded },
  { path: '/settings', title: 'Settings', nav: true, load: () => import('./pages/settings/Settings.svelte') as Loaded },
  { path: '/settings/webhooks', title: 'Webhooks', load: () => import('./pages/webhooks/Webhooks.svelte') as Loaded },
  { path: '/settings/limits', title: 'Limits and budgets', load: () => import('./pages/limits/Limits.svelte') as Loaded },
  { path: '/settings/backups', title: 'Backups', load: () => import('./pages/backups/Backups.svelte') as Loaded },
  { path: '/settings/api', title: 'API', load: () => import('./pages/api/Explorer.svelte') as Loaded },
  { path: '/about', title: 'About', load: () => import('./pages/about/About.svelte') as Loaded },
]

/** The page at a path, with the values of its `:name` parts. The first page that fits. */
export function pageAt(path: string): { page: Page; values: Record<string, string> } | undefined {
  const parts = path.split('/')
  for (const page of PAGES) {
    const pattern = page.path.split('/')
    const fits = pattern.length === parts.length && pattern.every((part, n) => (part.startsWith(':') ? parts[n] !== '' : part === parts[n]))
    if (!fits) continue
    const named = pattern.flatMap((part, n) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(parts[n]!)]] : []))
    return { page, values: Object.fromEntries(named) }
  }
  return undefined
}

/** Whether the app has a page at this path; all else is the server's. */
export function isPage(path: string) {
  return pageAt(path) !== undefined
}
