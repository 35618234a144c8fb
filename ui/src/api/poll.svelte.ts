/** One question, asked again and again: the last answer stays until there is a newer one. */
import { expected, Refused } from './errors'

export class Poll<T> {
  value = $state.raw<T>()
  /** When the value came, on the clock of `performance.now()`. */
  receivedAt = $state(0)
  refused = $state.raw<Refused>()
  #asked = 0
  #timer = 0

  constructor(
    readonly question: () => Promise<T>,
    readonly everyMs: number,
  ) {}

  /** Begins, and gives the way to end it: `$effect(() => poll.start())`. */
  start() {
    void this.#turn()
    return () => this.#end()
  }

  /** A newer answer, got otherwise; one that is still on its way is older. */
  put(value: T) {
    this.#end()
    this.#keep(value)
    this.#again()
  }

  #end() {
    this.#asked++
    clearTimeout(this.#timer)
  }

  #keep(value: T) {
    this.value = value
    this.receivedAt = performance.now()
    this.refused = undefined
  }

  #again() {
    this.#timer = setTimeout(() => void this.#turn(), this.everyMs)
  }

  async #turn() {
    const asked = ++this.#asked
    try {
      const value = await this.question()
      if (asked !== this.#asked) return
      this.#keep(value)
    } catch (error) {
      const why = expected(error)
      if (asked !== this.#asked) return
      if (why instanceof Refused) this.refused = why
      // Whoever is turned away is written down by the server each time.
      if (this.refused?.isForGood) return
    }
    this.#again()
  }
}
