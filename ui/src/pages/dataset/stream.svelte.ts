/**
 * The rows of a version, read from its export as the reader scrolls: the server sends no more than what is asked for, so
 * that a dataset of any length can be opened.
 */
import { expectedError, type Rejected, Unreachable } from '../../api/errors'
import { urlOf } from '../../api/request'

const STEP = 500

export class RowStream {
  rows = $state.raw<readonly unknown[]>([])
  done = $state(false)
  error = $state.raw<Rejected | Unreachable>()
  #reader: ReadableStreamDefaultReader<string> | undefined
  #rest = ''
  #reading = false
  readonly #abort = new AbortController()

  constructor(readonly name: string, readonly version: number) {}

  /** Reads the next rows; at the end nothing. */
  async more() {
    if (this.#reading || this.done) return
    this.#reading = true
    try {
      this.#reader ??= await this.#open()
      const found: unknown[] = []
      while (found.length < STEP && !this.done) {
        const { value, done } = await this.#reader.read()
        const lines = (this.#rest + (value ?? '')).split('\n')
        this.#rest = done ? '' : lines.pop()!
        found.push(...lines.filter(Boolean).map((line) => JSON.parse(line) as unknown))
        this.done = done
      }
      this.rows = [...this.rows, ...found]
    } catch (error) {
      if (!this.#abort.signal.aborted) this.error = expectedError(error instanceof TypeError ? new Unreachable(String(error)) : error)
    } finally {
      this.#reading = false
    }
  }

  async #open() {
    const url = urlOf('/api/v1/datasets/{name}/export', { path: { name: this.name }, query: { version: this.version, format: 'jsonl' } })
    const response = await fetch(url, { signal: this.#abort.signal })
    if (!response.ok || !response.body) throw new Unreachable(`the rows of ${this.name} could not be read: HTTP ${response.status}`)
    return response.body.pipeThrough(new TextDecoderStream()).getReader()
  }

  close() {
    this.#abort.abort()
  }
}
