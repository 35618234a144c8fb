/** How the last sign of life of a node is to be taken. */
import type { NodeList, NodeView } from './node'

export type Pulse = 'steady' | 'late' | 'silent'

/** A node beats three times per lease; who has missed two of them is late. */
const LATE = 2 / 3

export function pulseOf(node: NodeView, ageMs: number, list: NodeList): Pulse {
  if (node.state === 'silent' || ageMs > list.lease_ms) return 'silent'
  return ageMs > list.lease_ms * LATE ? 'late' : 'steady'
}
