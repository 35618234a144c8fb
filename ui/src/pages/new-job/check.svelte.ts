/** Checks the job file while it is typed, and forecasts its run: the last text wins, and the last valid answers are kept. */
import { expectedError, Rejected, Unreachable } from '../../api/errors'
import { request } from '../../api/request'
import { server } from '../../api/server.svelte'
import type { components } from '../../api/schema'
import type { PlacedProblem } from '../../api/types'

type Valid = components['schemas']['InOrder']
export type Forecast = components['schemas']['DryRunView']

const PAUSE_MS = 250

export class Checker {
  /** Problems of the current text. */
  problems = $state.raw<readonly PlacedProblem[]>([])
  /** The last valid file. */
  valid = $state.raw<Valid>()
  /** The current text is valid. */
  isValid = $state(false)
  checking = $state(false)
  error = $state.raw<Rejected | Unreachable>()
  checkedAt = $state(0)
  /** Of the last valid experiment. */
  forecast = $state.raw<Forecast>()
  forecasting = $state(false)
  #abort: AbortController | undefined
  #timer = 0

  check(text: string) {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.isValid = false
    this.checking = true
    this.#timer = window.setTimeout(() => void this.#send(text), PAUSE_MS)
  }

  async #send(text: string) {
    const abort = (this.#abort = new AbortController())
    try {
      const valid = await request('post', '/api/v1/check', { json: { file: text }, signal: abort.signal, timeoutMs: 60_000 })
      if (abort.signal.aborted) return
      this.#set([], undefined)
      this.valid = valid
      this.isValid = true
      await this.#estimate(text, valid.kind, abort.signal)
    } catch (error) {
      if (abort.signal.aborted) return
      const why = expectedError(error)
      const problems = why instanceof Rejected ? (why.problem.problems ?? []) : []
      this.#set(problems, problems.length > 0 ? undefined : why)
    }
  }

  /** What the run would cost. A rejected forecast, e.g. without the permission, only leaves it away. */
  async #estimate(file: string, kind: string, signal: AbortSignal) {
    if (kind !== 'experiment' || !server.may('operator')) return void (this.forecast = undefined)
    this.forecasting = true
    try {
      const forecast = await request('post', '/api/v1/dry-run', { json: { file }, signal, timeoutMs: 60_000 })
      if (!signal.aborted) this.forecast = forecast
    } catch (error) {
      if (!signal.aborted && expectedError(error) instanceof Rejected) this.forecast = undefined
    } finally {
      if (!signal.aborted) this.forecasting = false
    }
  }

  #set(problems: readonly PlacedProblem[], error: Rejected | Unreachable | undefined) {
    this.problems = problems
    this.error = error
    this.checking = false
    this.checkedAt = Date.now()
  }

  stop() {
    clearTimeout(this.#timer)
    this.#abort?.abort()
  }
}
