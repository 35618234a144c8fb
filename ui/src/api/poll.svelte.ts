/** Polls a request and keeps the last response. */
import { expectedError, Rejected } from './errors'

export class Poll<T> {
  value = $state.raw<T>()
  /** When the value was received, by `performance.now()`. */
  receivedAt = $state(0)
  rejected = $state.raw<Rejected>()
  #latest = 0
  #timer = 0

  constructor(
    readonly request: () => Promise<T>,
    readonly everyMs: number,
  ) {}

  /** Starts polling and returns a function that stops it: `$effect(() => poll.start())`. */
  start() {
    void this.#poll()
    return () => this.#end()
  }

  /** Sets a newer value from another request, and ignores a response that is still in flight. */
  put(value: T) {
    this.#end()
    this.#set(value)
    this.#schedule()
  }

  #end() {
    this.#latest++
    clearTimeout(this.#timer)
  }

  #set(value: T) {
    this.value = value
    this.receivedAt = performance.now()
    this.rejected = undefined
  }

  #schedule() {
    this.#timer = setTimeout(() => void this.#poll(), this.everyMs)
  }

  async #poll() {
    const current = ++this.#latest
    try {
      const value = await this.request()
      if (current !== this.#latest) return
      this.#set(value)
    } catch (error) {
      const why = expectedError(error)
      if (current !== this.#latest) return
      if (why instanceof Rejected) this.rejected = why
      // Stop polling: the server writes every rejected request to the audit log.
      if (this.rejected?.isPermanent) return
    }
    this.#schedule()
  }
}
