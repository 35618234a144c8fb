/**
 * The rows of one question to the result table. They are read page by page as they come into sight, from a snapshot of
 * the server: rows neither move nor change until the question is asked again. While the next answer is on its way, or
 * the question is rejected, the last good rows stay.
 */
import { expectedError, Rejected, Unreachable } from '../../../api/errors'
import { request } from '../../../api/request'
import { added, type Piece } from '../../../api/texts'
import type { Label, ResultView, TableRow, ViewRequest } from '../../../api/types'

const PAGE = 100
/** Pages further away are read again. */
const KEPT = 40
const MOST_AT_ONCE = 1_000
const MOST_STREAMED = 200
const TIMEOUT_MS = 120_000

export class ResultTable {
  view = $state.raw<ResultView>()
  error = $state.raw<Rejected | Unreachable>()
  loading = $state(false)
  /** How long the last answer took. */
  tookMs = 0
  #pages = $state.raw(new Map<number, readonly TableRow[]>())
  #wanted = new Set<number>()
  #asked: Partial<ViewRequest> | undefined
  #stop: AbortController | undefined

  constructor(readonly job: string) {}

  get length() {
    return this.view?.total ?? 0
  }

  at(index: number): TableRow | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE]
  }

  indexOf(item: string): number {
    for (const [page, rows] of this.#pages) {
      const found = rows.findIndex((row) => row.item === item)
      if (found >= 0) return page * PAGE + found
    }
    return -1
  }

  /** Reads the page of an item that a link names; −1 if it is not among the rows that match. */
  async locate(item: string): Promise<number> {
    const known = this.indexOf(item)
    const view = this.view
    if (known >= 0 || !view || !/^\d+$/.test(item)) return known
    try {
      const query = { item: Number(item), limit: PAGE }
      const read = await request('get', '/api/v1/jobs/{job}/views/{view}/rows', { path: { job: this.job, view: view.view }, query })
      if (view === this.view) this.#pages = new Map(this.#pages).set(read.offset / PAGE, read.rows)
    } catch (error) {
      const why = expectedError(error)
      if (why instanceof Rejected && why.status === 410 && view === this.view) await this.again()
      else if (!(why instanceof Rejected && why.status === 404)) this.error = why
    }
    return this.indexOf(item)
  }

  /** All rows between two places, also those that are not kept here. */
  async between(from: number, to: number): Promise<readonly TableRow[]> {
    const view = this.view
    const rows: TableRow[] = []
    while (view && rows.length < to - from + 1) {
      const query = { offset: from + rows.length, limit: Math.min(MOST_AT_ONCE, to - from + 1 - rows.length) }
      const read = await request('get', '/api/v1/jobs/{job}/views/{view}/rows', { path: { job: this.job, view: view.view }, query })
      if (read.rows.length === 0) break
      rows.push(...read.rows)
    }
    return rows
  }

  /** What people say about a row now. Its place stays. */
  relabel(item: string, labels: ReadonlyMap<string, Label>) {
    const index = this.indexOf(item)
    const row = this.at(index)
    if (!row) return
    const said = Object.fromEntries([...labels].map(([name, label]) => [name, { ...label, label: String(label.verdict ?? label.value ?? label.note ?? ''), corrected: correctedOf(label), outdated: false }]))
    const reviewed = Object.values(said).some((label) => label.corrected !== null)
    const page = Math.floor(index / PAGE)
    const rows = this.#pages.get(page)!.map((other) => (other === row ? { ...row, labels: said, reviewed } : other))
    this.#pages = new Map(this.#pages).set(page, rows)
  }

  /** Texts of calls in flight, in the rows that are here. */
  hear(pieces: readonly Piece[]) {
    const changed = new Map<number, TableRow[]>()
    for (const piece of pieces) {
      const index = this.indexOf(piece.item)
      if (index < 0) continue
      const page = Math.floor(index / PAGE)
      const rows = changed.get(page) ?? [...this.#pages.get(page)!]
      const row = rows[index % PAGE]!
      const before = row.streaming?.turn === piece.turn && (row.streaming.column ?? null) === (piece.column ?? null) ? row.streaming : undefined
      const text = added(before?.text ?? '', before?.length ?? 0, piece).slice(-MOST_STREAMED)
      rows[index % PAGE] = { ...row, streaming: { turn: piece.turn, column: piece.column ?? null, text, length: piece.from + piece.text.length } }
      changed.set(page, rows)
    }
    if (changed.size > 0) this.#pages = new Map([...this.#pages, ...changed])
  }

  /** Asks; `keep` leaves the page that is in sight where it is. */
  async ask(question: Partial<ViewRequest>, keep = 0) {
    this.#stop?.abort()
    const stop = (this.#stop = new AbortController())
    this.#asked = question
    this.loading = true
    const begun = performance.now()
    try {
      const view = await request('post', '/api/v1/jobs/{job}/views', { path: { job: this.job }, json: question, signal: stop.signal, timeoutMs: TIMEOUT_MS })
      const page = Math.max(0, Math.min(Math.floor(keep / PAGE), Math.ceil(view.total / PAGE) - 1))
      const rows = view.total > 0 ? await this.#read(view, page, stop.signal) : []
      if (stop.signal.aborted) return
      this.#wanted.clear()
      this.#pages = new Map([[page, rows]])
      this.view = view
      this.error = undefined
      this.tookMs = performance.now() - begun
    } catch (error) {
      const why = expectedError(error)
      if (stop.signal.aborted) return
      const isQuestion = why instanceof Rejected && why.problem.code === 'invalid_query'
      // A link with a wrong filter: the rows without it stand for those of the last good one.
      if (isQuestion && !this.view && (question.where || question.sort)) {
        const { where: _where, sort: _sort, ...rest } = question
        await this.ask(rest, keep)
        this.#asked = question
      }
      this.error = why
    } finally {
      if (!stop.signal.aborted) this.loading = false
    }
  }

  again = (keep = 0) => (this.#asked ? this.ask(this.#asked, keep) : Promise.resolve())

  close() {
    this.#stop?.abort()
  }

  /** Reads the pages of these rows. */
  async need(from: number, to: number) {
    const view = this.view
    if (!view) return
    const last = Math.min(Math.floor(to / PAGE), Math.ceil(view.total / PAGE) - 1)
    const missing = []
    for (let page = Math.max(0, Math.floor(from / PAGE)); page <= last; page++) {
      if (!this.#pages.has(page) && !this.#wanted.has(page)) missing.push(page)
    }
    await Promise.all(missing.map((page) => this.#load(view, page)))
  }

  async #load(view: ResultView, page: number) {
    this.#wanted.add(page)
    try {
      const rows = await this.#read(view, page)
      if (view !== this.view) return
      const pages = new Map(this.#pages).set(page, rows)
      while (pages.size > KEPT) pages.delete(farthest(pages.keys(), page))
      this.#pages = pages
    } catch (error) {
      const why = expectedError(error)
      if (view !== this.view) return
      // A snapshot lives for ten minutes; the same question makes another.
      if (why instanceof Rejected && why.status === 410) await this.again(page * PAGE)
      else this.error = why
    } finally {
      this.#wanted.delete(page)
    }
  }

  async #read(view: ResultView, page: number, signal?: AbortSignal): Promise<readonly TableRow[]> {
    const query = { offset: page * PAGE, limit: PAGE }
    const read = await request('get', '/api/v1/jobs/{job}/views/{view}/rows', { path: { job: this.job, view: view.view }, query, ...(signal ? { signal } : {}) })
    return read.rows
  }
}

const correctedOf = ({ verdict, value }: Label): number | null => (verdict ? Number(verdict === 'pass') : (value ?? null))

function farthest(pages: Iterable<number>, from: number): number {
  return [...pages].reduce((a, b) => (Math.abs(b - from) > Math.abs(a - from) ? b : a))
}
