/** The session of the caller. The server stores the API key in an HttpOnly cookie. */
import { request } from './request'
import { Rejected } from './errors'
import { server } from './server.svelte'

export async function loadSession() {
  server.setCaller(await request('get', '/api/v1/session', {}))
}

export async function signIn(key: string) {
  server.setCaller(await request('post', '/api/v1/session', { headers: { Authorization: `Bearer ${key}` } }))
}

export async function signOut() {
  await request('delete', '/api/v1/session', {})
  server.requireKey(new Rejected(401, { detail: 'you are signed out' }))
}
