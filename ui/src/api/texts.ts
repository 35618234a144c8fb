/** Texts of calls in flight, while they arrive: one stream per job for all who listen. Only what this node calls is heard. */
export interface Piece {
  item: string
  column?: string | null
  turn: number
  /** Characters before it. */
  from: number
  text: string
}

type Listener = (pieces: readonly Piece[]) => void

const listeners = new Map<string, Set<Listener>>()
const sources = new Map<string, EventSource>()

function open(job: string) {
  if (sources.has(job) || document.hidden) return
  const source = new EventSource(`/api/v1/jobs/${encodeURIComponent(job)}/events?detail=progress&text=true`)
  source.addEventListener('item_text', (message) => {
    const { items } = (JSON.parse((message as MessageEvent<string>).data) as { body: { items: Piece[] } }).body
    for (const listener of listeners.get(job) ?? []) listener(items)
  })
  sources.set(job, source)
}

function close(job: string) {
  sources.get(job)?.close()
  sources.delete(job)
}

document.addEventListener('visibilitychange', () => {
  for (const job of listeners.keys()) if (document.hidden) close(job)
  else open(job)
})

/** Calls the listener with each new piece; returns a function that stops it. */
export function followTexts(job: string, listener: Listener): () => void {
  const all = listeners.get(job) ?? new Set()
  listeners.set(job, all.add(listener))
  open(job)
  return () => {
    all.delete(listener)
    if (all.size > 0) return
    listeners.delete(job)
    close(job)
  }
}

/** The text so far with a new piece; after a gap only what is known to be right. */
export function added(text: string, length: number, piece: Piece): string {
  if (piece.from === length) return text + piece.text
  return piece.from < length ? text.slice(0, Math.max(0, text.length - (length - piece.from))) + piece.text : piece.text
}
