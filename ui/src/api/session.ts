/** The session of the caller. The server stores the API key in an HttpOnly cookie. */
import { Rejected } from './errors'
import { forgetAll } from './query.svelte'
import { request } from './request'
import { server } from './server.svelte'

export async function loadSession() {
  server.setCaller(await request('get', '/api/v1/session', {}))
}

export async function signIn(key: string) {
  const caller = await request('post', '/api/v1/session', { headers: { Authorization: `Bearer ${key}` } })
  forgetAll()
  server.setCaller(caller)
}

export async function signOut() {
  await request('delete', '/api/v1/session', {})
  forgetAll()
  server.requireKey(new Rejected(401, { detail: 'you are signed out' }))
}
