/** Reads 2 to 10 runs or variants for a comparison. The server compares each with the first, which is the baseline. */
import { expectedError, type Rejected, type Unreachable } from '../../api/errors'
import { request } from '../../api/request'
import type { ComparisonView, Difference, RunResult } from '../../api/types'

export const MOST = 10
const ROWS = 50

type Compared = ComparisonView['sides'][number]
type Change = ComparisonView['changes'][number]

export interface Side extends Compared {
  title: string
  /** Against the baseline; nothing for the baseline itself. */
  change?: Change | undefined
}

/** `Run 3`, `Run 3, small`, or with the name of its job where there are several. */
function titled(sides: readonly Compared[]): string[] {
  const jobs = new Set(sides.map((side) => side.job))
  const runs = new Set(sides.map((side) => side.run))
  return sides.map(({ job, no, variant }) => {
    if (variant && runs.size === 1) return variant
    return [jobs.size > 1 ? `${job} run ${no}` : `Run ${no}`, variant].filter(Boolean).join(', ')
  })
}

const ask = (names: readonly string[], rows: number) => request('get', '/api/v1/comparison', { query: { runs: names.join(','), rows }, timeoutMs: 120_000 })

export class Comparison {
  sides = $state.raw<readonly Side[]>([])
  /** Of each run, for what a comparison does not have: latency, duration, failed items. */
  results = $state.raw<ReadonlyMap<string, RunResult>>(new Map())
  error = $state.raw<Rejected | Unreachable>()
  /** Each against each, once somebody asked for it. */
  pairs = $state.raw<ReadonlyMap<string, Change>>(new Map())
  pairing = $state(false)

  /** The baseline first. */
  async read(names: readonly string[]) {
    try {
      const { sides, changes } = await ask(names, ROWS)
      const titles = titled(sides)
      this.sides = sides.map((side, n) => ({ ...side, title: titles[n]!, change: changes[n - 1] }))
      const runs = [...new Set(sides.map((side) => side.run))]
      const results = await Promise.all(runs.map((run) => request('get', '/api/v1/runs/{run}/result', { path: { run }, query: { worst: 0 } })))
      this.results = new Map(runs.map((run, n) => [run, results[n]!]))
    } catch (error) {
      this.error = expectedError(error)
    }
  }

  async pair() {
    this.pairing = true
    try {
      const pairs = new Map<string, Change>()
      for (const base of this.sides) {
        const others = this.sides.filter((side) => side !== base)
        const { changes } = await ask([base, ...others].map((side) => side.name), 0)
        others.forEach((side, n) => pairs.set(`${base.name}\n${side.name}`, changes[n]!))
      }
      this.pairs = pairs
    } catch (error) {
      this.error = expectedError(error)
    } finally {
      this.pairing = false
    }
  }

  /** What changed from one side to another. */
  difference(before: string, after: string, metric: string): Difference | undefined {
    return this.pairs.get(`${before}\n${after}`)?.evaluators[metric]
  }
}
