import { Refusal } from '../kernel/index.ts'
import type { IdempotencyKey } from './command.ts'
import type { LedgerPorts } from './execute.ts'
import { earlierAnswer } from './idempotency.ts'
import { type Order, storedOrder } from './order.ts'

/**
 * A command that looks at the world before it reaches the book may be refused the second time for what its first time
 * has changed (a quote is spent, say). Where it is refused, the answer that the same request has had already stands.
 */
export const orEarlierOrder = async (
  ports: LedgerPorts,
  key: IdempotencyKey,
  work: () => Promise<Order>,
): Promise<Order> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const earlier = await earlierAnswer(ports, key)
    if (!earlier) throw error
    return storedOrder.parse(earlier.answer)
  }
}
