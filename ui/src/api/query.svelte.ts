/**
 * One cache of GET requests for all pages. Components ask with `query(() => ({ path, … }))`; equal requests share one
 * entry. An entry is read again when an event of the live stream concerns it (`on`), or changed in place (`patch`).
 * `everyMs` is only for what the server does not push.
 */
import { untrack } from 'svelte'
import { expectedError, Rejected, Unreachable } from './errors'
import { live } from './live.svelte'
import { request, urlOf, type ParametersOf, type PathOf, type ResponseOf } from './request'
import type { Event } from './types'

export interface Spec<T> {
  url: string
  /** Whether an event makes the response out of date. */
  on?: ((event: Event, value: T) => boolean) | undefined
  /** Changes the response by an event, without a request. */
  patch?: ((event: Event, value: T) => T) | undefined
  everyMs?: number | undefined
  /** How often events make it read again at most. */
  atMostEveryMs?: number | undefined
}

/** At most two reads of one response per second, however many events there are. */
const COALESCE_MS = 500
const KEPT = 200

export class Entry<T> {
  value = $state.raw<T>()
  error = $state.raw<Rejected | Unreachable>()
  loading = $state(false)
  /** When the value was received, by `performance.now()`. */
  receivedAt = $state(0)
  #spec: Spec<T>
  #users = 0
  #latest = 0
  #timer = 0
  #due = 0

  constructor(spec: Spec<T>) {
    this.#spec = spec
  }

  use(spec: Spec<T>) {
    this.#spec = spec
    this.#users++
    const stop = live.listen((event) => this.#hear(event))
    void this.refresh()
    return () => {
      stop()
      this.#users--
      if (this.#users === 0) clearTimeout(this.#timer)
      if (this.#users === 0) clearTimeout(this.#due)
      this.#due = 0
    }
  }

  #hear(event: Event) {
    const { on, patch } = this.#spec
    if (this.value === undefined) return
    if (patch) this.value = patch(event, this.value)
    if (event.kind === 'gap' || on?.(event, this.value)) this.#soon()
  }

  #soon() {
    if (this.#due) return
    const wait = Math.max((this.#spec.atMostEveryMs ?? COALESCE_MS) - (performance.now() - this.receivedAt), 0)
    this.#due = window.setTimeout(() => {
      this.#due = 0
      void this.refresh()
    }, wait)
  }

  /** A newer value from another response. */
  put(value: T) {
    this.#latest++
    this.value = value
    this.error = undefined
    this.receivedAt = performance.now()
    this.loading = false
    this.#schedule()
  }

  refresh = async () => {
    const current = ++this.#latest
    clearTimeout(this.#timer)
    this.loading = true
    try {
      const value = await get<T>(this.#spec.url)
      if (current === this.#latest) this.put(value)
    } catch (error) {
      const why = expectedError(error)
      if (current !== this.#latest) return
      this.loading = false
      this.error = why
      this.#schedule()
    }
  }

  #schedule() {
    clearTimeout(this.#timer)
    const { everyMs } = this.#spec
    const permanent = this.error instanceof Rejected
    const again = this.error ? (everyMs ?? 2_000) : everyMs
    // A rejected request is not repeated: the server writes each to the audit log.
    if (again && this.#users > 0 && !permanent) this.#timer = window.setTimeout(() => void this.refresh(), again)
  }
}

function get<T>(url: string): Promise<T> {
  return request('get', url as '/api/v1/session', {}) as unknown as Promise<T>
}

const entries = new Map<string, Entry<unknown>>()

function entryOf<T>(spec: Spec<T>): Entry<T> {
  const known = entries.get(spec.url) as Entry<T> | undefined
  const entry = known ?? new Entry<T>(spec)
  // The most recently used entries are kept.
  entries.delete(spec.url)
  entries.set(spec.url, entry as Entry<unknown>)
  if (entries.size > KEPT) entries.delete(entries.keys().next().value!)
  return entry
}

/** Forgets every response, e.g. when another caller signs in. */
export function forgetAll() {
  entries.clear()
}

/** The response to a request, typed by its path: `of('/api/v1/jobs', { query: { kind } })`. */
export function of<P extends PathOf<'get'>>(path: P, parameters: ParametersOf<'get', P>, more: Omit<Spec<ResponseOf<'get', P>>, 'url'> = {}): Spec<ResponseOf<'get', P>> {
  return { url: urlOf(path, parameters), ...more }
}

/** A query of a component; it follows its inputs. While the next response is on its way, the previous value stays. */
export function query<T>(spec: () => Spec<T> | undefined) {
  const wanted = $derived(spec())
  const entry = $derived(wanted ? untrack(() => entryOf(wanted)) : undefined)
  let last = $state.raw<T>()
  $effect(() => {
    const current = entry
    const how = untrack(() => wanted)
    if (!current || !how) return
    return untrack(() => current.use(how))
  })
  $effect(() => {
    if (entry?.value !== undefined) last = entry.value
  })
  return {
    get value() {
      return entry?.value ?? (entry?.error || !entry ? undefined : last)
    },
    get error() {
      return entry?.error
    },
    /** The value is of the previous inputs. */
    get stale() {
      return entry !== undefined && entry.value === undefined && last !== undefined
    },
    get loading() {
      return entry !== undefined && entry.value === undefined && !entry.error
    },
    get receivedAt() {
      return entry?.receivedAt ?? 0
    },
    put(value: T) {
      entry?.put(value)
    },
    refresh() {
      void entry?.refresh()
    },
  }
}
