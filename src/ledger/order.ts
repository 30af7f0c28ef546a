import { z } from 'zod'
import { bizId, type Instant, type OrderId, parseInstant, toInstant, toIso } from '../kernel/index.ts'

const instant = z.string().transform((text) => toInstant(Date.parse(text)))

/** Parses the JSON form of an order, which the SQL function `order_json` in schema/orders.ts builds. */
export const storedOrder = z.object({
  bizId: idOf<'order'>(),
  workspaceBizId: idOf<'workspace'>(),
  counterpartyWorkspaceBizId: idOf<'workspace'>().nullable(),
  orderType: z.string(),
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

/** An order. `data` contains fields of the order's domain, which parses them. */
export type Order = z.output<typeof storedOrder>

/** The final statuses of Portico's order types. They are final for other domains, too, which may add more. */
export const endedStatuses = ['COMPLETED', 'FAILED', 'REJECTED', 'CANCELLED', 'EXPIRED'] as const

/** Returns when the order most recently entered a status, or null. */
export function reachedAt(order: Order, status: string): Order['createdAt'] | null {
  return order.history.findLast((step) => step.status === status)?.at ?? null
}

/** The status from which an order can expire, and its status after the expiry. An order expires at its `expiresAt`. */
export interface OrderExpiry {
  from: string
  to: string
}

/** An order counts as expired from its expiresAt, even before the job has updated its stored status. */
export function expiredAt(
  { status, data: { expiresAt } }: Pick<Order, 'status' | 'data'>,
  { from, to }: OrderExpiry,
  now: Instant,
): Instant | null {
  const end = parseInstant(expiresAt ?? undefined)
  if (end === undefined) return null
  return status === to || (status === from && end <= now) ? end : null
}

/** Crockford's Base32, which omits letters that people confuse with digits. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The digits encode the lowest 60 bits of the id, which are random. Order numbers therefore need no shared counter. */
export function orderNumber(prefix: string, id: OrderId, at: Instant): string {
  let rest = BigInt(`0x${id.replaceAll('-', '').slice(-15)}`)
  let text = ''
  for (let place = 0; place < 12; place++) {
    text = digits.charAt(Number(rest & 31n)) + text
    rest >>= 5n
  }
  return `${prefix}-${toIso(at).slice(0, 10).replaceAll('-', '')}-${text}`
}

function idOf<Kind extends string>() {
  return z.string().transform((text) => bizId<Kind>(text))
}
