/** All pages. To add one, create a directory under `pages/` and add a line here. */
import type { Component } from 'svelte'
import Nodes from './pages/nodes/Nodes.svelte'

export interface Page {
  path: string
  title: string
  component: Component
}

export const PAGES: readonly Page[] = [{ path: '/nodes', title: 'Nodes', component: Nodes }]

/** The page at `/`. */
export const HOME = '/nodes'
