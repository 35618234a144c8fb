/** The rejected records of an ingest job, page by page, oldest first. */
import { expectedError, type Rejected as Refusal, type Unreachable } from '../../../api/errors'
import { request } from '../../../api/request'
import type { components } from '../../../api/schema'
import type { JobDetail } from '../../../api/types'
import { jobKey } from '../../../text/links'

export type Letter = components['schemas']['RejectedView']
const PAGE = 200

export class RejectedRecords {
  list = $state.raw<readonly Letter[]>()
  more = $state(false)
  reading = $state(false)
  error = $state.raw<Refusal | Unreachable>()
  #job: JobDetail
  #slice: string
  #next: number | undefined

  constructor(job: JobDetail, slice: string) {
    this.#job = job
    this.#slice = slice
  }

  refresh = () => {
    this.#next = undefined
    return this.#read([])
  }

  /** The next page, after those that are here. */
  next = () => this.#read(this.list ?? [])

  async #read(before: readonly Letter[]) {
    if (this.reading) return
    this.reading = true
    try {
      const query = { limit: PAGE, after: this.#next, ...(this.#slice ? { slice: this.#slice } : {}) }
      const page = await request('get', '/api/v1/jobs/{job}/rejected', { path: { job: jobKey(this.#job) }, query })
      this.list = [...before, ...page.rejected]
      this.#next = page.next ?? undefined
      this.more = this.#next !== undefined
      this.error = undefined
    } catch (error) {
      this.error = expectedError(error)
    } finally {
      this.reading = false
    }
  }
}
