/** State of the connection: whether the server is reachable, whether it requires a key, and who the caller is. */
import type { components } from './schema'
import type { Rejected } from './errors'

export type Caller = components['schemas']['CallerView']

class Server {
  /** Since when the server is unreachable. */
  unreachableSince = $state.raw<Date>()
  /** Why the server requires a key, or another key. */
  keyRequired = $state.raw<Rejected>()
  caller = $state.raw<Caller>()

  markReachable() {
    this.unreachableSince = undefined
  }

  markUnreachable() {
    this.unreachableSince ??= new Date()
  }

  requireKey(why: Rejected) {
    this.keyRequired = why
    this.caller = undefined
  }

  setCaller(caller: Caller) {
    this.keyRequired = undefined
    this.caller = caller
  }
}

export const server = new Server()
