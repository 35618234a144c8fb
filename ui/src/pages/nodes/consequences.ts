/** What stands still when a node leaves, because no other one that lives does it. */
import type { NodeRole, NodeView } from './node'

const WITHOUT: Record<NodeRole, string> = {
  api: 'No other node answers requests: the API and this page are gone until one is started.',
  scheduler: 'No other node coordinates runs: they stand still until one is started.',
  worker: 'No other node does items: they wait until one is started, unless workers elsewhere (windrow worker) do them.',
}

export function consequencesOf(leaving: NodeView, nodes: readonly NodeView[]): string[] {
  const staying = nodes.filter((node) => node.id !== leaving.id && node.state === 'alive')
  const alone = leaving.roles.filter((role) => !staying.some((node) => node.roles.includes(role)))
  return alone.map((role) => WITHOUT[role])
}
