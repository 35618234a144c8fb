/** Classifies the last heartbeat of a node. */
import type { NodeList, NodeView } from '../../api/types'
import { clock } from '../../text/clock.svelte'
import { server } from '../../api/server.svelte'

export type Pulse = 'steady' | 'late' | 'silent'

/** A node sends three heartbeats per lease; after two missed ones it is late. */
const LATE = 2 / 3
const ORDER: Record<NodeView['state'], number> = { silent: 0, draining: 1, alive: 2 }

export function pulseOf(node: NodeView, ageMs: number, list: NodeList): Pulse {
  if (node.state === 'silent' || ageMs > list.lease_ms) return 'silent'
  return ageMs > list.lease_ms * LATE ? 'late' : 'steady'
}

/** The server's time. It advances between two responses, but not while the server is unreachable. */
export function serverNow(list: NodeList, receivedAt: number): number {
  void clock.now
  return Date.parse(list.at) + (server.unreachableSince ? 0 : Math.max(performance.now() - receivedAt, 0))
}

/** `3 alive · 1 draining`. */
export function countStates(nodes: readonly NodeView[]): string {
  const states = ['alive', 'draining', 'silent'] as const
  return states
    .map((state) => [nodes.filter((node) => node.state === state).length, state] as const)
    .flatMap(([n, state]) => (n > 0 ? [`${n} ${state}`] : []))
    .join(' · ')
}

/** Silent nodes first, otherwise as the server lists them. */
export function byWorry(nodes: readonly NodeView[]): NodeView[] {
  return [...nodes].sort((a, b) => ORDER[a.state] - ORDER[b.state])
}
