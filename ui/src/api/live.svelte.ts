/**
 * The events of all jobs, over one server-sent stream for all pages. The stream resumes after the last event it
 * received. A hidden tab and the pause button close it; what changed meanwhile is read again.
 */
import { server } from './server.svelte'
import type { Event } from './types'

type Listener = (event: Event) => void
export type LiveState = 'live' | 'connecting' | 'paused'

const RETRY_MS = 2_000
const STREAM = '/api/v1/events?detail=progress'
const KINDS = ['run_submitted', 'run_planned', 'run_state', 'run_progress', 'items_archived', 'items_partial', 'gap']
/** Not an event of the server: some may have been missed. */
export const MISSED: Event = { id: 0, at: '', kind: 'gap', body: null }

class Live {
  state = $state<LiveState>('connecting')
  paused = $state(false)
  #listeners = new Set<Listener>()
  #source: EventSource | undefined
  #retry = 0
  #opened = false

  /** Calls the listener for each event; returns a function that stops it. */
  listen(listener: Listener) {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Opens the stream: `$effect(() => live.start())`. */
  start() {
    const follow = () => (document.hidden || this.paused ? this.#close('paused') : this.#open())
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      this.#close('connecting')
    }
  }

  #open() {
    if (this.#source) return
    this.state = 'connecting'
    const source = (this.#source = new EventSource(STREAM))
    source.onopen = () => this.#onopen()
    source.onerror = () => this.#onerror(source)
    for (const kind of KINDS) source.addEventListener(kind, (message) => this.#tell(JSON.parse((message as MessageEvent).data)))
    source.onmessage = (message) => this.#tell(JSON.parse(message.data))
  }

  #onopen() {
    this.state = 'live'
    server.markReachable()
    // A new stream starts with the next event; everything before it is read again.
    if (this.#opened) this.#tell(MISSED)
    this.#opened = true
  }

  #onerror(source: EventSource) {
    this.state = 'connecting'
    if (source.readyState !== EventSource.CLOSED) return
    this.#close('connecting')
    this.#retry = window.setTimeout(() => this.#open(), RETRY_MS)
  }

  #close(state: LiveState) {
    clearTimeout(this.#retry)
    this.#source?.close()
    this.#source = undefined
    this.state = state
  }

  #tell(event: Event) {
    for (const listener of [...this.#listeners]) listener(event)
  }
}

export const live = new Live()
