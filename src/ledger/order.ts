import { z } from 'zod'
import { bizId, toInstant } from '../kernel/index.ts'

const idOf = <Kind extends string>() => z.string().transform((text) => bizId<Kind>(text))
const instant = z.string().transform((text) => toInstant(Date.parse(text)))

/** An order as the store tells it (order_json), fresh or replayed. */
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

export type Order = z.output<typeof storedOrder>

/** The final statuses of all order types. The same list as in schema/orders.ts. */
export const endedStatuses = ['COMPLETED', 'FAILED', 'REJECTED', 'CANCELLED', 'EXPIRED'] as const

/** When the order reached a status, by its history; null when it never did. */
export const reachedAt = (order: Order, status: string): Order['createdAt'] | null =>
  order.history.findLast((step) => step.status === status)?.at ?? null
