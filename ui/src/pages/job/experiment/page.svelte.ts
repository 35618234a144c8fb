/** What the address says about the results of an experiment, and the question to the server that follows from it. */
import type { JobDetail, Metric, ViewRequest } from '../../../api/types'
import { router } from '../../../router.svelte'
import { field } from '../../../text/json'
import { keep, kept } from '../../../text/kept'
import { readingOf, type Reading } from './cells'
import { nameText } from './terms'

export type Layout = 'compare' | 'matrix' | 'grouped'
export type Mode = 'compact' | 'comfortable' | 'diff'
export interface Named {
  name: string
  why: string
}

/** Evaluators in the order of the job file: the first is the headline. */
export function evaluatorsOf(job: JobDetail): string[] {
  const listed = field(job.spec, 'evaluators')
  return Array.isArray(listed) ? listed.map((entry) => String(field(entry, 'name') ?? '')).filter(Boolean) : []
}

export function ordered(metrics: readonly Metric[], evaluators: readonly string[]): Metric[] {
  const place = (metric: Metric) => (evaluators.indexOf(metric.name) + 1 || evaluators.length + 1)
  return [...metrics].sort((a, b) => place(a) - place(b))
}

const NARROWEST = 40

export class PageState {
  /** Widths of columns that the user changed, in pixels. */
  widths = $state.raw<Readonly<Record<string, number>>>({})
  #rows = $state('')
  #cols = $state('')

  constructor(readonly job: () => JobDetail, readonly auto: () => Named | undefined) {
    const { name } = job()
    this.widths = kept<Record<string, number>>(`widths.${name}`) ?? {}
    this.#rows = kept<string>(`rows.${name}`) ?? ''
    this.#cols = kept<string>(`cols.${name}`) ?? ''
  }

  /** Columns and height of rows stay as they were chosen for this job. */
  choose(what: 'rows' | 'cols', value: string) {
    if (what === 'rows') this.#rows = value
    else this.#cols = value
    keep(`${what}.${this.job().name}`, value)
    router.set({ [what]: value })
  }

  widen(column: string, from: number, by: number) {
    this.widths = { ...this.widths, [column]: Math.max(NARROWEST, Math.round(from + by)) }
    keep(`widths.${this.job().name}`, this.widths)
  }

  usualColumns() {
    this.widths = {}
    keep(`widths.${this.job().name}`, undefined)
    this.choose('cols', '')
  }

  get reading(): Reading {
    return readingOf(this.job().spec)
  }

  get q() {
    return router.param('q')
  }

  get layout(): Layout {
    const wanted = router.param('layout')
    return wanted === 'matrix' || wanted === 'grouped' ? wanted : 'compare'
  }

  get mode(): Mode {
    const wanted = router.param('rows') || this.#rows
    return wanted === 'comfortable' || wanted === 'diff' ? wanted : 'compact'
  }

  get charts() {
    return router.param('show') === 'chart'
  }

  get run(): number | undefined {
    return Number(router.param('run')) || undefined
  }

  /** The baseline and why it is one. */
  get baseline(): Named | undefined {
    const named = router.param('vs')
    if (named === 'none') return undefined
    return named ? { name: named, why: 'as you chose' } : this.auto()
  }

  get headline(): string | undefined {
    return evaluatorsOf(this.job())[0]
  }

  get group() {
    return router.param('group') || (this.layout === 'grouped' ? 'outcome' : '')
  }

  /** Largest regression first; without a baseline the lowest score first. While a run is active, as in the dataset. */
  get sort(): string {
    const asked = router.param('sort')
    if (asked) return asked
    if (!this.headline || this.job().state === 'live') return 'row'
    return nameText(`${this.baseline ? 'delta' : 'score'}.${this.headline}`)
  }

  get columns(): string[] | undefined {
    const asked = router.param('cols') || this.#cols
    return asked ? asked.split(',') : undefined
  }

  /** Of all rows, for the strip. */
  get whole(): Partial<ViewRequest> {
    return { ...(this.run ? { run: this.run } : {}), ...(this.baseline ? { vs: this.baseline.name } : {}) }
  }

  get question(): Partial<ViewRequest> {
    const sort = this.layout === 'matrix' ? 'row' : this.sort
    return { ...this.whole, ...(this.q ? { where: this.q } : {}), ...(sort === 'row' ? {} : { sort }), ...(this.layout === 'grouped' ? { group: this.group } : {}), facets: ['*'] }
  }

  get cli(): string {
    const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
    const { run, vs, where, sort, group } = this.question
    const parts: [string, string | number | null | undefined][] = [['run', run], ['vs', vs], ['where', where], ['sort', sort], ['group', group]]
    const given = parts.flatMap(([flag, value]) => (value ? [`--${flag} ${typeof value === 'number' ? value : quoted(value)}`] : []))
    return ['windrow results', this.job().name, ...given].join(' ')
  }

  /** The address of the same page with another filter; the drawer closes. */
  to(q: string): string {
    return router.with({ q, item: '', tab: '' })
  }

  filter(q: string) {
    router.set({ q, item: '', tab: '' }, 'push')
  }
}
