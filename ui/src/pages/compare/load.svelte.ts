/** Reads 2 to 10 runs for a comparison: each against each, so that any of them can be the baseline. */
import { expectedError, type Rejected, type Unreachable } from '../../api/errors'
import { request } from '../../api/request'
import type { Compared, Difference, RunResult } from '../../api/types'

export const MOST = 10

export interface Side {
  /** As in the address: `JOB#3`. */
  name: string
  title: string
  result: RunResult
}

export class Comparison {
  sides = $state.raw<readonly Side[]>([])
  error = $state.raw<Rejected | Unreachable>()
  loading = $state(true)
  #pairs = new Map<string, Compared>()

  async read(names: readonly string[]) {
    try {
      const pairs = names.flatMap((before, n) => names.slice(n + 1).map((after) => [before, after] as const))
      const compared = await Promise.all(pairs.map(([before, after]) => request('get', '/api/v1/compare', { query: { before, after, rows: 50 } })))
      pairs.forEach(([before, after], n) => this.#pairs.set(`${before}\n${after}`, compared[n]!))
      const runs = [compared[0]!.before, ...compared.slice(0, names.length - 1).map((pair) => pair.after)]
      const results = await Promise.all(runs.map(({ run }) => request('get', '/api/v1/runs/{run}/result', { path: { run }, query: { worst: 0 } })))
      const jobs = new Set(runs.map((run) => run.job))
      this.sides = names.map((name, n) => ({ name, title: jobs.size > 1 ? `${runs[n]!.job} run ${runs[n]!.no}` : `Run ${runs[n]!.no}`, result: results[n]! }))
    } catch (error) {
      this.error = expectedError(error)
    } finally {
      this.loading = false
    }
  }

  /** What changed from one run to another; the server was asked for one of the two ways. */
  difference(before: string, after: string, metric: string): Difference | undefined {
    const there = this.#pairs.get(`${before}\n${after}`)?.evaluators[metric]
    if (there) return there
    const back = this.#pairs.get(`${after}\n${before}`)?.evaluators[metric]
    return back && turned(back)
  }
}

/** The same difference seen from the other run. */
function turned(difference: Difference): Difference {
  const { mean } = difference
  const { interval } = mean ?? {}
  return {
    ...difference,
    broken: difference.fixed,
    fixed: difference.broken,
    broken_rows: difference.fixed_rows,
    fixed_rows: difference.broken_rows,
    only_before: difference.only_after,
    only_after: difference.only_before,
    mean: mean ? { ...mean, before: mean.after, after: mean.before, difference: -mean.difference, interval: interval ? { low: -interval.high, high: -interval.low } : null } : null,
  }
}
