/** The results of a job's latest runs, oldest first. */
import { expectedError, type Rejected, type Unreachable } from '../../api/errors'
import { request } from '../../api/request'
import type { Run, RunResult } from '../../api/types'

export interface Point {
  run: Run
  result: RunResult
}

export class Results {
  points = $state.raw<readonly Point[]>([])
  error = $state.raw<Rejected | Unreachable>()
  loading = $state(true)

  async read(runs: readonly Run[]) {
    try {
      const results = await Promise.all(runs.map((run) => request('get', '/api/v1/runs/{run}/result', { path: { run: run.id }, query: { worst: 0 } })))
      this.points = runs.map((run, n) => ({ run, result: results[n]! }))
      this.error = undefined
    } catch (error) {
      this.error = expectedError(error)
    } finally {
      this.loading = false
    }
  }
}

export function verdictOf({ result, run }: Point): string {
  if (!run.ended_at) return 'UNDECIDED'
  if (result.gates.length === 0) return 'no gates'
  if (result.gates.some((gate) => gate.verdict === 'failed')) return 'FAILED'
  return result.gates.some((gate) => gate.verdict === 'undecided') ? 'INCONCLUSIVE' : 'PASSED'
}
