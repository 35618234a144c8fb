/** What a gate found, with its interval and bound: `found 0.871 [0.852, 0.889], needed 0.9`. */
import type { components } from '../../api/schema'
import { score } from '../../text/number'
import { took } from '../../text/time'

type Judged = components['schemas']['Judged']

function value(gate: Judged, n: number): string {
  if (gate.unit === 'share') return `${(n * 100).toFixed(1)} %`
  if (gate.unit === 'milliseconds') return took(n)
  return gate.unit === 'dollars' ? `$${n.toFixed(2)}` : score(n)
}

export function formatGate(gate: Judged): string {
  const { actual, bound, interval, note } = gate
  const parts = [
    actual !== null && actual !== undefined ? `found ${value(gate, actual)}` : '',
    interval ? `[${value(gate, interval.low)}, ${value(gate, interval.high)}]` : '',
  ].filter(Boolean)
  const needed = bound !== null && bound !== undefined ? `needed ${value(gate, bound)}` : ''
  return [parts.join(' '), needed, note ?? ''].filter(Boolean).join(', ')
}
