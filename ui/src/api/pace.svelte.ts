/** How fast runs advance, from the events since the page was opened. */
import { settled } from '../text/bars'
import { live } from './live.svelte'
import type { Counts, Run } from './types'

interface Sample {
  at: number
  settled: number
}

const KEPT_MS = 600_000
const RECENT_MS = 120_000
const POINTS = 40

class Pace {
  #samples = new Map<string, Sample[]>()
  /** Changes with every sample, so that components follow. */
  #version = $state(0)

  constructor() {
    live.listen((event) => {
      const counts = (event.body as { counts?: Counts } | null)?.counts
      if (event.run && counts) this.#add(event.run, { at: Date.now(), settled: settled(counts) })
    })
  }

  #add(run: string, sample: Sample) {
    const samples = this.#samples.get(run) ?? []
    if (samples.length > 0 && sample.at - samples[samples.length - 1]!.at < 900) return
    samples.push(sample)
    while (samples.length > 0 && sample.at - samples[0]!.at > KEPT_MS) samples.shift()
    this.#samples.set(run, samples)
    this.#version++
  }

  #of(run: Run): Sample[] {
    void this.#version
    return this.#samples.get(run.id) ?? []
  }

  /** Items per second: of the last two minutes, or since the start while less is known. */
  rate(run: Run, now: number): number | undefined {
    const recent = this.#of(run).filter((sample) => now - sample.at <= RECENT_MS)
    const [first, last] = [recent[0], recent[recent.length - 1]]
    if (first && last && last.at - first.at > 10_000) return Math.max(0, ((settled(run.items) - first.settled) / (now - first.at)) * 1_000)
    if (!run.started_at || run.ended_at) return undefined
    return (settled(run.items) / Math.max(now - Date.parse(run.started_at), 1)) * 1_000
  }

  /** Milliseconds until the run ends at this rate. */
  left(run: Run, now: number): number | undefined {
    const rate = this.rate(run, now)
    const open = run.items.total - settled(run.items)
    return rate && run.planned && open > 0 ? (open / rate) * 1_000 : undefined
  }

  /** Items per second over time, for a chart. */
  history(run: Run): number[] {
    const samples = this.#of(run)
    const rates = samples.slice(1).map((sample, n) => ((sample.settled - samples[n]!.settled) / (sample.at - samples[n]!.at)) * 1_000)
    const step = Math.max(1, Math.ceil(rates.length / POINTS))
    return rates.filter((_, n) => n % step === 0).map((rate) => Math.max(rate, 0))
  }
}

export const pace = new Pace()
