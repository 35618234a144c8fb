/** The current path. Links are plain links; links to pages are followed without a reload. */
import { HOME, PAGES } from './pages'

class Router {
  path = $state(location.pathname)

  constructor() {
    if (this.path === '/') this.#show(HOME)
    addEventListener('popstate', () => (this.path = location.pathname))
    addEventListener('click', (event) => this.#follow(event))
  }

  #show(path: string) {
    history.replaceState(null, '', path)
    this.path = path
  }

  #follow(event: MouseEvent) {
    const link = (event.target as Element).closest('a')
    const elsewhere = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
    if (!link || elsewhere || event.defaultPrevented || !PAGES.some((page) => page.path === link.pathname)) return
    if (link.origin !== location.origin || link.target) return
    event.preventDefault()
    if (link.pathname !== this.path) history.pushState(null, '', link.pathname)
    this.path = link.pathname
  }
}

export const router = new Router()
