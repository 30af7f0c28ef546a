import { z } from 'zod'
import { bizId, type Instant, type OrderId, parseInstant, toInstant, toIso } from '../kernel/index.ts'
import type { OrderType } from './schema/tables.ts'

const idOf = <Kind extends string>() => z.string().transform((text) => bizId<Kind>(text))
const instant = z.string().transform((text) => toInstant(Date.parse(text)))

/** The JSON form of an order (order_json in schema/orders.ts). */
export const storedOrder = z.object({
  bizId: idOf<'order'>(),
  workspaceBizId: idOf<'workspace'>(),
  counterpartyWorkspaceBizId: idOf<'workspace'>().nullable(),
  orderType: z.enum(['TRANSFER', 'EXCHANGE', 'RECHARGE', 'WITHDRAWAL']),
  orderNo: z.string(),
  status: z.string(),
  version: z.int(),
  sourceWalletBizId: idOf<'wallet'>().nullable(),
  targetWalletBizId: idOf<'wallet'>().nullable(),
  createdBy: idOf<'account'>().nullable(),
  data: z.record(z.string(), z.string().nullable()),
  createdAt: instant,
  updatedAt: instant,
  history: z.array(
    z.object({
      status: z.string(),
      at: instant,
      actorBizId: idOf<'account'>().nullable(),
      reason: z.string().nullable(),
    }),
  ),
})

/** An order of the ledger. Its domain parses `data`. */
export type Order = z.output<typeof storedOrder>

/** The final statuses of all order types. */
export const endedStatuses = ['COMPLETED', 'FAILED', 'REJECTED', 'CANCELLED', 'EXPIRED'] as const

/** When the order last reached a status; null if it never did. */
export const reachedAt = (order: Order, status: string): Order['createdAt'] | null =>
  order.history.findLast((step) => step.status === status)?.at ?? null

/** The statuses before and after the order's `expiresAt`. */
export interface OrderExpiry {
  from: string
  to: string
}

/** An unpaid recharge expires. One with a proof does not. */
export const rechargeExpiry: OrderExpiry = { from: 'PENDING_PAYMENT', to: 'EXPIRED' }

/**
 * The instant at which the order expired, or null if it has not. An order expires at its `expiresAt`, even before the job
 * records it.
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

const prefixes: Record<OrderType, string> = { TRANSFER: 'TRF', EXCHANGE: 'EXC', RECHARGE: 'RCH', WITHDRAWAL: 'WDR' }

/** Crockford's Base32 alphabet: no two digits look or sound alike. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** An order number: `TRF-20260801-` and twelve digits from the id's low 60 random bits. Needs no shared counter. */
export const orderNumber = (type: OrderType, id: OrderId, at: Instant): string => {
  let rest = BigInt(`0x${id.replaceAll('-', '').slice(-15)}`)
  let text = ''
  for (let place = 0; place < 12; place++) {
    text = digits.charAt(Number(rest & 31n)) + text
    rest >>= 5n
  }
  return `${prefixes[type]}-${toIso(at).slice(0, 10).replaceAll('-', '')}-${text}`
}
