/**
 * The address is the state of the page: path, and search parameters that pages read with `param` and write with `set`.
 * Links are plain links; links within the app are followed without a reload.
 */
import { isPage } from './pages'

type Changes = Record<string, string | number | undefined | null | false>

class Router {
  path = $state(location.pathname)
  #search = $state.raw(new URLSearchParams(location.search))

  constructor() {
    addEventListener('popstate', () => this.#read())
    addEventListener('click', (event) => this.#follow(event))
  }

  param(name: string): string {
    return this.#search.get(name) ?? ''
  }

  /** The address of this page with other parameters; empty ones are left out. */
  with(changes: Changes): string {
    const search = new URLSearchParams(this.#search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === null || value === false || value === '') search.delete(name)
      else search.set(name, String(value))
    }
    const text = search.toString()
    return text ? `${this.path}?${text}` : this.path
  }

  /** Changes parameters of this page. A step that a user can go back from is pushed. */
  set(changes: Changes, how: 'push' | 'replace' = 'replace') {
    const url = this.with(changes)
    if (url === location.pathname + location.search) return
    if (how === 'push') history.pushState(null, '', url)
    else history.replaceState(null, '', url)
    this.#read()
  }

  go(url: string) {
    const before = this.path
    if (url !== location.pathname + location.search) history.pushState(null, '', url)
    this.#read()
    if (this.path === before) return
    scrollTo(0, 0)
    // Readers of the page hear where they are.
    queueMicrotask(() => document.querySelector('main')?.focus())
  }

  #read() {
    this.path = location.pathname
    this.#search = new URLSearchParams(location.search)
  }

  #follow(event: MouseEvent) {
    const link = (event.target as Element).closest?.('a')
    const elsewhere = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
    const href = link?.getAttribute('href')
    if (!link || !href || elsewhere || event.defaultPrevented || link.hasAttribute('target') || link.hasAttribute('download')) return
    // Links of charts are of SVG and have no parts of their own.
    const url = new URL(href, location.href)
    if (url.origin !== location.origin || !isPage(url.pathname)) return
    event.preventDefault()
    this.go(url.pathname + url.search)
    if (url.hash) document.getElementById(url.hash.slice(1))?.scrollIntoView()
  }
}

export const router = new Router()
