/** Who one is. A key is handed to the server once, which keeps it in a cookie that no script can read. */
import { ask } from './ask'
import { Refused } from './errors'
import { server } from './server.svelte'

export async function recognise() {
  server.knows(await ask('get', '/api/v1/session', {}))
}

export async function signIn(key: string) {
  server.knows(await ask('post', '/api/v1/session', { headers: { Authorization: `Bearer ${key}` } }))
}

export async function signOut() {
  await ask('delete', '/api/v1/session', {})
  server.wantsKey(new Refused(401, { detail: 'this browser has forgotten its key' }))
}
