/** What the user just did, for six seconds. */
import { expectedError, Rejected } from '../api/errors'

/** What can be done next: a page to open, or an action such as Undo. */
export type Follow = { title: string } & ({ href: string } | { act: () => void })

export interface Toast {
  id: number
  text: string
  tone: 'pass' | 'fail'
  link?: Follow | undefined
}

const SHOWN_MS = 6_000

class Toasts {
  list = $state.raw<readonly Toast[]>([])
  #next = 0

  say(text: string, link?: Toast['link']) {
    this.#add({ text, tone: 'pass', link })
  }

  /** Shows why an action failed. */
  fail(error: unknown) {
    const why = expectedError(error)
    const remedy = why instanceof Rejected && why.problem.remedy ? `; ${why.problem.remedy}` : ''
    this.#add({ text: why instanceof Rejected ? why.problem.detail + remedy : 'The server is unreachable; the request may or may not have arrived', tone: 'fail' })
  }

  drop(id: number) {
    this.list = this.list.filter((toast) => toast.id !== id)
  }

  #add(toast: Omit<Toast, 'id'>) {
    const id = this.#next++
    this.list = [...this.list, { ...toast, id }]
    // Errors stay until they are read.
    if (toast.tone === 'pass') setTimeout(() => this.drop(id), SHOWN_MS)
  }
}

export const toasts = new Toasts()
