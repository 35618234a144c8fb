/** The two ways in which a question can stay without its answer. */
import type { components } from './schema'

export type Problem = components['schemas']['Problem']

/** The server said no, and why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Pick<Problem, 'detail' | 'remedy'>,
  ) {
    super(problem.detail)
  }

  /** It will say the same again until somebody does something about it. */
  get isForGood() {
    return this.status === 401 || this.status === 403
  }
}

/** There was no answer, or none of Windrow's. */
export class Unreachable extends Error {}

/** For what is a mistake of ours, and not one of these two. */
export function expected(error: unknown): Refused | Unreachable {
  if (error instanceof Refused || error instanceof Unreachable) return error
  throw error
}
