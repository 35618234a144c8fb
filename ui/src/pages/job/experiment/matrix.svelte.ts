/** Items of a view as lines of a matrix: one per row of the dataset, with the trials of each variant. */
import { expectedError } from '../../../api/errors'
import { request } from '../../../api/request'
import type { ResultView, TableRow } from '../../../api/types'

const PAGE = 500

export class Line {
  cells = new Map<string, TableRow[]>()

  constructor(readonly first: TableRow) {}

  get key() {
    return this.first.key
  }

  add(row: TableRow) {
    const name = row.variant ?? ''
    this.cells.set(name, [...(this.cells.get(name) ?? []), row])
  }

  has(item: string) {
    return item !== '' && [...this.cells.values()].some((rows) => rows.some((row) => row.item === item))
  }
}

/** The view is in the order of the dataset, so that the items of a row follow each other. */
export class MatrixRows {
  rows = $state.raw<readonly Line[]>([])
  done = $state(false)
  #read = 0
  #busy = false

  constructor(readonly job: string, readonly view: ResultView) {}

  async more() {
    if (this.#busy || this.done) return
    this.#busy = true
    try {
      const page = await request('get', '/api/v1/jobs/{job}/views/{view}/rows', { path: { job: this.job, view: this.view.view }, query: { offset: this.#read, limit: PAGE } })
      const lines = [...this.rows]
      for (const row of page.rows) {
        if (lines[lines.length - 1]?.key !== row.key) lines.push(new Line(row))
        lines[lines.length - 1]!.add(row)
      }
      this.#read += page.rows.length
      this.rows = lines
      this.done = this.#read >= page.total
    } catch (error) {
      expectedError(error)
      this.done = true
    } finally {
      this.#busy = false
    }
  }
}
