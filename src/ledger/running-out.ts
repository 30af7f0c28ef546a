import { type Instant, parseInstant } from '../kernel/index.ts'
import type { Order } from './order.ts'

/** The status that an order leaves, and the one that it takes, once its data's `expiresAt` has come. */
export interface RunningOut {
  from: string
  to: string
}

/** A recharge waits so long for its payment; one with a proof waits for us, without a limit. */
export const rechargeRunsOut: RunningOut = { from: 'PENDING_PAYMENT', to: 'EXPIRED' }

/**
 * When its time ran out: while it stood in that status, by now; or as it has been written down since, which a job does
 * some time later. Null where it did not.
 */
export const ranOutAt = (
  { status, data: { expiresAt } }: Pick<Order, 'status' | 'data'>,
  { from, to }: RunningOut,
  now: Instant,
): Instant | null => {
  const end = parseInstant(expiresAt ?? undefined)
  if (end === undefined) return null
  return status === to || (status === from && end <= now) ? end : null
}
