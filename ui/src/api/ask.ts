/** One question to the server, typed by its OpenAPI document: `ask('post', '/api/v1/nodes/{node}/drain', { path: { node } })`. */
import { Refused, Unreachable, type Problem } from './errors'
import type { paths } from './schema'
import { server } from './server.svelte'

type Method = 'get' | 'post' | 'put' | 'delete'
type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends object ? P : never }[keyof paths]
type AnswerOf<O> = O extends { responses: infer R } ? JsonOf<R[keyof R & (200 | 201 | 202)]> : never
type JsonOf<R> = R extends { content: { 'application/json': infer T } } ? T : never
type PlaceOf<O> = O extends { parameters: { path: infer T extends object } } ? { path: T } : { path?: never }

interface More {
  path?: Record<string, string | number> | undefined
  headers?: Record<string, string>
}

const PATIENCE_MS = 10_000

export async function ask<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  more: PlaceOf<paths[P][M]> & Omit<More, 'path'>,
): Promise<AnswerOf<paths[P][M]>> {
  const response = await send(method, filled(path, more), more)
  const body = await response.json().catch(() => undefined)
  if (response.ok) {
    server.answers()
    return body
  }
  if (!isProblem(body)) {
    server.isLost()
    throw new Unreachable(`something on the way answers ${response.status}`)
  }
  server.answers()
  const refused = new Refused(response.status, body)
  if (refused.status === 401) server.wantsKey(refused)
  throw refused
}

async function send(method: Method, path: string, more: More) {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    return await fetch(path, { method: method.toUpperCase(), headers: more.headers ?? {}, cache: 'no-store', signal })
  } catch (error) {
    server.isLost()
    throw new Unreachable(String(error))
  }
}

function filled(path: string, more: More) {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(more.path?.[name] ?? ''))
}

/** A proxy in front of a server that is down says no as well, in words of its own. */
function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body
}
