/** The two kinds of failed requests. */
import type { components } from './schema'

export type Problem = components['schemas']['Problem']

/** The server rejected the request. */
export class Rejected extends Error {
  constructor(
    readonly status: number,
    readonly problem: Pick<Problem, 'detail'> & Partial<Problem>,
    /** The request, as the server's log names it. */
    readonly request?: string | null,
  ) {
    super(problem.detail)
  }

  /** Retrying does not help until the user changes something. */
  get isPermanent() {
    return this.status === 401 || this.status === 403
  }
}

/** No response, or not one of Windrow. */
export class Unreachable extends Error {}

/** Rethrows bugs; returns the two kinds of failed requests. */
export function expectedError(error: unknown): Rejected | Unreachable {
  if (error instanceof Rejected || error instanceof Unreachable) return error
  throw error
}
