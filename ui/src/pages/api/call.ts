/** A request made by hand: its address, its curl command, and its response up to a size and a time. */
import type { Operation } from './document'

export interface Filled {
  values: Record<string, string>
  type: string
  body: string
  /** Sent instead of the session. */
  key: string
}

export interface Answer {
  status: number
  statusText: string
  ms: number
  headers: [string, string][]
  body: string
  /** There is more, which was not read. */
  cut: boolean
}

const MOST = 256 * 1024
/** A stream does not end by itself. */
const LONGEST_MS = 10_000

export function urlFor(operation: Operation, { values }: Filled): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  const query = new URLSearchParams(operation.parameters.filter((entry) => entry.in === 'query' && values[entry.name]).map((entry) => [entry.name, values[entry.name]!]))
  return query.size > 0 ? `${path}?${query}` : path
}

function headersFor(operation: Operation, filled: Filled): [string, string][] {
  const named = operation.parameters.filter((entry) => entry.in === 'header' && filled.values[entry.name])
  return [...named.map((entry): [string, string] => [entry.name, filled.values[entry.name]!]), ...(sendsBody(operation, filled) ? [['Content-Type', filled.type] as [string, string]] : [])]
}

const sendsBody = (operation: Operation, filled: Filled) => operation.bodies.length > 0 && filled.body.trim() !== ''
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The key itself is never in it. */
export function curlFor(operation: Operation, filled: Filled, withKey: boolean): string {
  const parts = ['curl', ...(operation.method === 'GET' ? [] : ['-X', operation.method]), quoted(location.origin + urlFor(operation, filled))]
  if (withKey || filled.key) parts.push('-H "Authorization: Bearer $WINDROW_API_KEY"')
  for (const [name, value] of headersFor(operation, filled)) parts.push('-H', quoted(`${name}: ${value}`))
  if (sendsBody(operation, filled)) parts.push(filled.body.includes('\n') ? '--data-binary' : '-d', quoted(filled.body))
  return parts.join(' ')
}

export async function call(operation: Operation, filled: Filled): Promise<Answer> {
  const began = performance.now()
  const headers = new Headers(headersFor(operation, filled))
  if (filled.key) headers.set('Authorization', `Bearer ${filled.key}`)
  const stop = new AbortController()
  const response = await fetch(urlFor(operation, filled), { method: operation.method, headers, cache: 'no-store', signal: stop.signal, ...(sendsBody(operation, filled) ? { body: filled.body } : {}) })
  const { text, cut } = await read(response, stop)
  return { status: response.status, statusText: response.statusText, ms: performance.now() - began, headers: [...response.headers], body: pretty(text, cut), cut }
}

async function read(response: Response, stop: AbortController) {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let [text, cut] = ['', false]
  const timer = setTimeout(() => ((cut = true), void reader?.cancel()), LONGEST_MS)
  while (reader && text.length < MOST) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  clearTimeout(timer)
  if (text.length >= MOST) cut = true
  if (cut) stop.abort()
  return { text: text.slice(0, MOST), cut }
}

function pretty(text: string, cut: boolean): string {
  if (cut || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
