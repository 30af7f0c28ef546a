import { toDate } from '../kernel/index.ts'
import type { IdempotencyKey } from './command.ts'
import type { LedgerPorts } from './execute.ts'
import { callIdempotencyBegin, callIdempotencyCleanup, callIdempotencyEnd } from './execute-store.ts'
import { answerOf } from './outcome.ts'

/**
 * The answer that a request has had already, or undefined when it is still to be done. Inside a transaction it
 * keeps the request's key locked until that ends; a refusal says that the key is busy or was used for something else.
 */
export const earlierAnswer = async (
  { database, clock }: LedgerPorts,
  key: IdempotencyKey,
): Promise<{ answer: unknown } | undefined> => {
  const outcome = await callIdempotencyBegin(database, key, toDate(clock.now()))
  return outcome && { answer: answerOf(outcome, []) }
}

/** Keeps the answer of a command that posts nothing, in the transaction of its effect, after `earlierAnswer`. */
export const keepAnswer = ({ database, clock }: LedgerPorts, key: IdempotencyKey, answer: unknown): Promise<void> =>
  callIdempotencyEnd(database, key, answer, toDate(clock.now()))

/** Forgets answers older than a day, so many at most, and says how many went. */
export const forgetAnswers = ({ database, clock }: LedgerPorts, most: number): Promise<number> =>
  callIdempotencyCleanup(database, toDate(clock.now()), most)
