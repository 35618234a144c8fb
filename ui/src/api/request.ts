/** Sends a request to the server, typed by its OpenAPI document: `request('post', '/api/v1/nodes/{node}/drain', { path: { node } })`. */
import { Rejected, Unreachable, type Problem } from './errors'
import type { paths } from './schema'
import { server } from './server.svelte'

type Method = 'get' | 'post' | 'put' | 'delete'
type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends object ? P : never }[keyof paths]
type ResponseOf<O> = O extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never
type JsonOf<R> = R extends { content: { 'application/json': infer T } } ? T : never
type ParametersOf<O> = O extends { parameters: { path: infer T extends object } } ? { path: T } : { path?: never }

interface Options {
  path?: Record<string, string | number> | undefined
  headers?: Record<string, string>
}

const TIMEOUT_MS = 10_000

export async function request<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  options: ParametersOf<paths[P][M]> & Omit<Options, 'path'>,
): Promise<ResponseOf<paths[P][M]>> {
  const response = await send(method, fillPath(path, options), options)
  const body = await response.json().catch(() => undefined)
  if (response.ok) {
    server.markReachable()
    return body
  }
  if (!isProblem(body)) {
    server.markUnreachable()
    throw new Unreachable(`unexpected response: HTTP ${response.status}`)
  }
  server.markReachable()
  const rejected = new Rejected(response.status, body)
  if (rejected.status === 401) server.requireKey(rejected)
  throw rejected
}

async function send(method: Method, path: string, options: Options) {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return await fetch(path, { method: method.toUpperCase(), headers: options.headers ?? {}, cache: 'no-store', signal })
  } catch (error) {
    server.markUnreachable()
    throw new Unreachable(String(error))
  }
}

function fillPath(path: string, options: Options) {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(options.path?.[name] ?? ''))
}

/** Distinguishes an error of Windrow from one of a proxy in front of it. */
function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body
}
