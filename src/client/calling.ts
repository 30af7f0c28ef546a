import type { Operation } from '../kernel/index.ts'
import type { Args, Result } from './contract-types.ts'

/** A reply's data, and when the gateway says it was; null where it does not say. */
export interface Answer<T> {
  data: T
  timestamp: number | null
}

/** Calls any operation of the client's portal, with all that goes with it: channel, tokens, retries. */
export interface Calling {
  answer<O extends Operation>(operation: O, args: Args<O>): Promise<Answer<Result<O>>>
}
