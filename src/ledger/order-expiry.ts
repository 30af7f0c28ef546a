import { type Instant, parseInstant } from '../kernel/index.ts'
import type { Order } from './order.ts'

/** The statuses before and after the order's `expiresAt`. */
export interface OrderExpiry {
  from: string
  to: string
}

/** A recharge expires without a payment. One with a proof waits for an operator, without a limit. */
export const rechargeExpiry: OrderExpiry = { from: 'PENDING_PAYMENT', to: 'EXPIRED' }

/**
 * When the order expired, or null if it has not. An order expires at its `expiresAt`; a job records that later.
 */
export const expiredAt = (
  { status, data: { expiresAt } }: Pick<Order, 'status' | 'data'>,
  { from, to }: OrderExpiry,
  now: Instant,
): Instant | null => {
  const end = parseInstant(expiresAt ?? undefined)
  if (end === undefined) return null
  return status === to || (status === from && end <= now) ? end : null
}
