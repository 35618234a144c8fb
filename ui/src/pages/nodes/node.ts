import type { components } from '../../api/schema'

export type NodeList = components['schemas']['NodeList']
export type NodeView = components['schemas']['NodeView']
export type NodeRole = NodeView['roles'][number]
