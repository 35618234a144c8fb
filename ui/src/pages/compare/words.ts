/** What a comparison says, in sentences. */
import type { Difference } from '../../api/types'
import { chance, range, signed, type Direction } from '../../text/change'
import type { Side } from './load.svelte'

export interface Line {
  side: Side
  difference: Difference | undefined
  p: number | undefined
  direction: Direction
}

function listed(lines: readonly Line[]): string {
  return lines.map(({ side, difference }) => `${side.title} (${signed(difference?.mean?.difference ?? 0)} ${range(difference?.mean?.interval, signed)})`).join(', ')
}

export function inWords(lines: readonly Line[], base: Side, metric: string): string {
  const others = lines.filter((line) => line.side !== base)
  const told = (direction: Direction) => others.filter((line) => line.difference?.mean && line.direction === direction)
  const [better, worse, unclear] = [told('better'), told('worse'), told('unclear')]
  const missing = others.filter((line) => !line.difference?.mean)
  const sentences = [
    better.length > 0 ? `Better than ${base.title} in ${metric}: ${listed(better)}.` : '',
    worse.length > 0 ? `Worse: ${listed(worse)}.` : '',
    unclear.length > 0 ? `Not distinguishable from ${base.title}: ${unclear.map((line) => `${line.side.title}${line.p === undefined ? '' : ` (${chance(line.p)})`}`).join(', ')}.` : '',
    missing.length > 0 ? `No rows in common with ${base.title}: ${missing.map((line) => line.side.title).join(', ')}.` : '',
  ]
  return sentences.filter(Boolean).join(' ')
}
