/** Every page there is: a new one is a folder under `pages/` and a line here. */
import type { Component } from 'svelte'
import Nodes from './pages/nodes/Nodes.svelte'

export interface Page {
  path: string
  title: string
  component: Component
}

export const PAGES: readonly Page[] = [{ path: '/nodes', title: 'Nodes', component: Nodes }]

/** What `/` shows. */
export const HOME = '/nodes'
