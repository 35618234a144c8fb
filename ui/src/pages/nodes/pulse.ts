/** Classifies the last heartbeat of a node. */
import type { NodeList, NodeView } from './node'

export type Pulse = 'steady' | 'late' | 'silent'

/** A node sends three heartbeats per lease; after two missed ones it is late. */
const LATE = 2 / 3

export function pulseOf(node: NodeView, ageMs: number, list: NodeList): Pulse {
  if (node.state === 'silent' || ageMs > list.lease_ms) return 'silent'
  return ageMs > list.lease_ms * LATE ? 'late' : 'steady'
}
