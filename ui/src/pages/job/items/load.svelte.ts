/**
 * The items of a job, page by page as they scroll into sight. Rows hold still: what changes meanwhile is counted, and
 * shown when the user asks for it. A filter that the server rejects leaves the last rows in place.
 */
import { expectedError, Rejected, type Unreachable } from '../../../api/errors'
import { live } from '../../../api/live.svelte'
import { request } from '../../../api/request'
import type { Item } from '../../../api/types'

const PAGE = 200
const MOST = 1_000

export class Items {
  rows = $state.raw<readonly Item[]>([])
  next = $state.raw<string | null | undefined>()
  loading = $state(true)
  error = $state.raw<Rejected | Unreachable>()
  /** Events since the rows were read. */
  changed = $state(0)
  #latest = 0
  #more = false

  constructor(
    readonly job: string,
    readonly id: string,
    readonly filter: string,
    readonly sort: string,
  ) {}

  start() {
    void this.read()
    return live.listen((event) => {
      if (event.job !== this.id && event.kind !== 'gap') return
      this.changed++
      // Nothing can move while there is nothing.
      if (this.rows.length === 0 && !this.loading) void this.read()
    })
  }

  /** Reads the rows again, as many as there were. */
  read = async () => {
    const current = ++this.#latest
    this.loading = true
    try {
      const page = await this.#page(undefined, Math.min(Math.max(this.rows.length, PAGE), MOST))
      if (current !== this.#latest) return
      this.rows = page.items
      this.next = page.next
      this.error = undefined
      this.changed = 0
    } catch (error) {
      if (current === this.#latest) this.error = expectedError(error)
    } finally {
      if (current === this.#latest) this.loading = false
    }
  }

  more = async () => {
    if (!this.next || this.#more || this.loading) return
    this.#more = true
    const current = this.#latest
    try {
      const page = await this.#page(this.next, PAGE)
      if (current !== this.#latest) return
      const known = new Set(this.rows.map((item) => item.id))
      this.rows = [...this.rows, ...page.items.filter((item) => !known.has(item.id))]
      this.next = page.next
    } catch (error) {
      this.error = expectedError(error)
    } finally {
      this.#more = false
    }
  }

  #page(after: string | undefined, limit: number) {
    const { job, filter, sort } = this
    return request('get', '/api/v1/jobs/{job}/items', { path: { job }, query: { filter, sort, after, limit } })
  }
}
