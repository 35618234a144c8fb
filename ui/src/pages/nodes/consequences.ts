/** Warnings about roles that no other live node has. */
import type { NodeRole, NodeView } from '../../api/types'

const WITHOUT: Record<NodeRole, string> = {
  api: 'No other node serves the API: the API and this page are unavailable until one is started.',
  scheduler: 'No other node coordinates runs: they make no progress until one is started.',
  worker: 'No other node executes items: they wait until one is started, unless remote workers (windrow worker) execute them.',
}

export function consequencesOf(draining: NodeView, nodes: readonly NodeView[]): string[] {
  const staying = nodes.filter((node) => node.id !== draining.id && node.state === 'alive')
  const alone = draining.roles.filter((role) => !staying.some((node) => node.roles.includes(role)))
  return alone.map((role) => WITHOUT[role])
}
