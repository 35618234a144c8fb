/** What all questions together have shown of the server: whether it answers, whether it wants a key, and for whom it takes us. */
import type { components } from './schema'
import type { Refused } from './errors'

export type Caller = components['schemas']['CallerView']

class Server {
  /** Since when it does not answer. */
  lostAt = $state.raw<Date>()
  /** Why it wants a key, or another one. */
  keyWanted = $state.raw<Refused>()
  caller = $state.raw<Caller>()

  answers() {
    this.lostAt = undefined
  }

  isLost() {
    this.lostAt ??= new Date()
  }

  wantsKey(why: Refused) {
    this.keyWanted = why
    this.caller = undefined
  }

  knows(caller: Caller) {
    this.keyWanted = undefined
    this.caller = caller
  }
}

export const server = new Server()
