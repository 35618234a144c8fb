/** The rows of the dataset with the items of all variants and trials, page by page as they come into sight. */
import { expectedError, Rejected, type Unreachable } from '../../../api/errors'
import { request } from '../../../api/request'
import type { ResultView, TableRow } from '../../../api/types'

const PAGE = 40
/** Pages further away are read again. */
const KEPT = 50

export class Line {
  cells = new Map<string, TableRow[]>()

  constructor(readonly first: TableRow) {}

  get key() {
    return String(this.first.row)
  }

  add(row: TableRow) {
    const name = row.variant ?? ''
    this.cells.set(name, [...(this.cells.get(name) ?? []), row])
  }

  has(item: string) {
    return item !== '' && [...this.cells.values()].some((rows) => rows.some((row) => row.item === item))
  }
}

/** The view is in the order of the dataset. */
export class MatrixRows {
  length = $state(0)
  error = $state.raw<Rejected | Unreachable>()
  #pages = $state.raw(new Map<number, readonly Line[]>())
  #wanted = new Set<number>()

  constructor(
    readonly job: string,
    readonly view: ResultView,
    /** The view has expired. */
    readonly ongone: () => void,
  ) {}

  at(index: number): Line | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE]
  }

  /** The key of the line that has this item, if it is here. */
  keyOf(item: string): string | undefined {
    for (const lines of this.#pages.values()) for (const line of lines) if (line.has(item)) return line.key
    return undefined
  }

  /** Reads the pages of these lines. */
  need(from: number, to: number) {
    for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page++) {
      if (!this.#pages.has(page) && !this.#wanted.has(page)) void this.#read(page)
    }
  }

  async #read(page: number) {
    this.#wanted.add(page)
    try {
      const query = { lines: true, offset: page * PAGE, limit: PAGE }
      const read = await request('get', '/api/v1/jobs/{job}/views/{view}/rows', { path: { job: this.job, view: this.view.view }, query })
      const lines: Line[] = []
      for (const row of read.rows) {
        if (lines[lines.length - 1]?.first.row !== row.row) lines.push(new Line(row))
        lines[lines.length - 1]!.add(row)
      }
      const pages = new Map(this.#pages).set(page, lines)
      for (const other of pages.keys()) if (pages.size > KEPT && Math.abs(other - page) > KEPT / 2) pages.delete(other)
      this.#pages = pages
      this.length = read.total
    } catch (error) {
      const why = expectedError(error)
      if (why instanceof Rejected && why.status === 410) this.ongone()
      else this.error = why
    } finally {
      this.#wanted.delete(page)
    }
  }
}
