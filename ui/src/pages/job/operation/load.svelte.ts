/**
 * All targets of an operation without their states, page by page; read again after events of the job. Large operations
 * are read less often.
 */
import { expectedError, type Rejected, type Unreachable } from '../../../api/errors'
import { live } from '../../../api/live.svelte'
import { request } from '../../../api/request'
import type { JobDetail, Target } from '../../../api/types'
import { jobKey } from '../../../text/links'

/** The first rows come at once, the rest in larger pages. */
const FIRST = 200
const PAGE = 1_000
const PAUSE_MS = 500

export class Targets {
  list = $state.raw<readonly Target[]>()
  error = $state.raw<Rejected | Unreachable>()
  /** All pages are here. */
  complete = $state(false)
  #job: JobDetail
  #reading = false
  #again = false
  #stopped = false
  #tookMs = 0

  constructor(job: JobDetail) {
    this.#job = job
  }

  /** Reads and follows: `$effect(() => targets.start())`. */
  start() {
    const stop = live.listen((event) => (event.kind === 'gap' || event.job === this.#job.id) && void this.refresh())
    void this.refresh()
    return () => {
      this.#stopped = true
      stop()
    }
  }

  refresh = async () => {
    if (this.#reading) {
      this.#again = true
      return
    }
    this.#reading = true
    do {
      this.#again = false
      await this.#read()
      // Reading takes at most a fifth of the time, however large the operation is.
      await new Promise((done) => setTimeout(done, Math.max(PAUSE_MS, this.#tookMs * 4)))
    } while (this.#again && !this.#stopped)
    this.#reading = false
  }

  async #read() {
    const began = performance.now()
    const found: Target[] = []
    let after: number | undefined
    try {
      do {
        const page = await request('get', '/api/v1/jobs/{job}/targets', { path: { job: jobKey(this.#job) }, query: { limit: after === undefined ? FIRST : PAGE, after, brief: true }, timeoutMs: 60_000 })
        found.push(...page.targets)
        after = page.next ? Number(page.next.replace(/\D/g, '')) : undefined
        if (!this.complete) this.list = [...found]
      } while (after !== undefined && !this.#stopped)
      this.list = found
      this.complete = true
      this.error = undefined
    } catch (error) {
      this.error = expectedError(error)
    }
    this.#tookMs = performance.now() - began
  }
}

/** One target with its states before and after. */
export async function targetOf(job: JobDetail, item: string): Promise<Target | undefined> {
  const page = await request('get', '/api/v1/jobs/{job}/targets', { path: { job: jobKey(job) }, query: { limit: 1, after: Number(item) - 1 } })
  return page.targets.find((target) => target.item === item)
}
