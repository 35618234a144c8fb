/** State of the connection: whether the server is reachable, whether it requires a key, and who the caller is. */
import type { components } from './schema'
import type { Rejected } from './errors'
import type { Role } from './types'

export type Caller = components['schemas']['CallerView']

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 }

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

  /** Whether the caller has this role. */
  may(role: Role) {
    return this.caller !== undefined && RANK[this.caller.role] >= RANK[role]
  }

  /** Why a button is off, or nothing: `title={server.lacks('operator')}`. */
  lacks(role: Role): string | undefined {
    if (this.unreachableSince) return 'The server is unreachable'
    if (!this.caller || this.may(role)) return undefined
    return `Requires the role ${role}; you are ${this.caller.role}`
  }
}

export const server = new Server()
