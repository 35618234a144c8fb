/** The slices of a run, page by page: the first ones and, of a large plan, all that failed. Read again after events. */
import { expectedError, type Rejected, type Unreachable } from '../../../api/errors'
import { live } from '../../../api/live.svelte'
import { request, type ResponseOf } from '../../../api/request'
import { worriedFirst, type Slice } from './stats'

type Lineage = ResponseOf<'get', '/api/v1/runs/{run}/lineage'>
const PAGE = 200
const BATCHES = 5
const PAUSE_MS = 500

export class Slices {
  list = $state.raw<readonly Slice[]>()
  origin = $state.raw<Lineage['schedule_instance']>()
  /** There are more than these. */
  more = $state(false)
  reading = $state(false)
  error = $state.raw<Rejected | Unreachable>()
  #run: string
  #pages = 1
  #again = false
  #stopped = false

  constructor(run: string) {
    this.#run = run
  }

  /** Reads and follows: `$effect(() => slices.start())`. */
  start() {
    const stop = live.listen((event) => (event.kind === 'gap' || event.run === this.#run) && void this.refresh())
    void this.refresh()
    return () => {
      this.#stopped = true
      stop()
    }
  }

  /** Reads one page more. */
  next = () => {
    this.#pages++
    void this.refresh()
  }

  refresh = async () => {
    if (this.reading) {
      this.#again = true
      return
    }
    this.reading = true
    do {
      this.#again = false
      const began = performance.now()
      await this.#read()
      if (!this.#again) break
      // Reading takes at most a fifth of the time, however large the plan is.
      await new Promise((done) => setTimeout(done, Math.max(PAUSE_MS, (performance.now() - began) * 4)))
    } while (!this.#stopped)
    this.reading = false
  }

  async #read() {
    const found = new Map<string, Slice>()
    let after: number | undefined
    try {
      for (let page = 0; page < this.#pages; page++) {
        const lineage = await this.#page({ after })
        this.origin = lineage.schedule_instance
        lineage.slices.forEach((slice) => found.set(slice.name, slice))
        after = lineage.next ?? undefined
        if (after === undefined) break
      }
      if (after !== undefined) (await this.#page({ status: 'FAILED' })).slices.forEach((slice) => found.set(slice.name, slice))
      this.list = worriedFirst([...found.values()])
      this.more = after !== undefined
      this.error = undefined
    } catch (error) {
      this.error = expectedError(error)
    }
  }

  #page(query: { after?: number | undefined; status?: 'FAILED' }): Promise<Lineage> {
    return request('get', '/api/v1/runs/{run}/lineage', { path: { run: this.#run }, query: { ...query, limit: PAGE, batches: BATCHES }, timeoutMs: 60_000 })
  }
}
