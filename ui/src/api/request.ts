/** Sends a request to the server, typed by its OpenAPI document: `request('get', '/api/v1/jobs/{job}', { path: { job } })`. */
import { Rejected, Unreachable, type Problem } from './errors'
import type { paths } from './schema'
import { server } from './server.svelte'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
export type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends object ? P : never }[keyof paths]
export type ResponseOf<M extends Method, P extends PathOf<M>> = paths[P][M] extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never
type JsonOf<R> = R extends { content: { 'application/json': infer T } } ? T : never
type PathParameters<O> = O extends { parameters: { path: infer T extends object } } ? { path: T } : { path?: never }
type QueryParameters<O> = O extends { parameters: { query?: infer T } } ? { query?: Loose<T> } : { query?: never }
type Loose<T> = { [K in keyof T]?: T[K] | undefined }
export type ParametersOf<M extends Method, P extends PathOf<M>> = PathParameters<paths[P][M]> & QueryParameters<paths[P][M]>

interface Body {
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is, with this type. */
  body?: BodyInit
  type?: string
  headers?: Record<string, string>
  signal?: AbortSignal
  timeoutMs?: number
}

interface Options extends Body {
  path?: Record<string, string | number> | undefined
  query?: object | undefined
}

const TIMEOUT_MS = 15_000

export async function request<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  options: ParametersOf<M, P> & Body,
): Promise<ResponseOf<M, P>> {
  const response = await send(method, urlOf(path, options), options)
  const body = response.status === 204 ? undefined : await bodyOf(response, options.signal)
  if (response.ok) {
    server.markReachable()
    return body
  }
  if (!isProblem(body)) {
    server.markUnreachable()
    throw new Unreachable(`unexpected response: HTTP ${response.status}`)
  }
  server.markReachable()
  const rejected = new Rejected(response.status, body, response.headers.get('x-request-id'))
  if (rejected.status === 401) server.requireKey(rejected)
  throw rejected
}

/** The JSON of a response; undefined if it is something else. A response that breaks off is no response. */
async function bodyOf(response: Response, signal: AbortSignal | undefined) {
  try {
    return await response.json()
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    if (signal?.aborted) throw new Unreachable('cancelled')
    server.markUnreachable()
    throw new Unreachable(String(error))
  }
}

async function send(method: Method, url: string, options: Options) {
  const headers = { ...options.headers }
  const body = options.json === undefined ? options.body : JSON.stringify(options.json)
  if (body !== undefined) headers['Content-Type'] = options.type ?? 'application/json'
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout
  try {
    return await fetch(url, { method: method.toUpperCase(), headers, cache: 'no-store', signal, ...(body === undefined ? {} : { body }) })
  } catch (error) {
    if (options.signal?.aborted) throw new Unreachable('cancelled')
    server.markUnreachable()
    throw new Unreachable(String(error))
  }
}

export function urlOf(path: string, options: { path?: object | undefined; query?: object | undefined }) {
  const values = options.path as Record<string, string | number> | undefined
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values?.[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  return query.size > 0 ? `${filled}?${query}` : filled
}

/** Distinguishes an error of Windrow from one of a proxy in front of it. */
function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body
}
