import * as z from 'zod'
import { operation } from '../kernel/index.ts'
import { bizId, decimal, timestamp } from './common.ts'
import { operator } from './policies.ts'

const Invariants = z.object({
  holds: z.boolean(),
  checkedAt: timestamp,
  checks: z.array(z.object({ name: z.string(), holds: z.boolean(), violations: z.int() })),
})

/** One side of a booking; the amounts of an order's postings add up to nothing in each currency. */
const Posting = z.object({
  bizId,
  orderType: z.string(),
  orderBizId: bizId,
  ledgerAccount: z.string(),
  walletBizId: bizId.nullable(),
  amount: decimal.meta({ description: 'signed: a debit is negative' }),
  currency: z.string(),
  createdAt: timestamp,
})

const get = {
  method: 'GET',
  chains: ['system'],
  policy: { ...operator, permission: 'ledger:read' },
  body: 'none',
} as const

export const checkLedgerInvariants = operation({
  ...get,
  id: 'operators.ledgerInvariants',
  path: '/ledger/invariants',
  summary: 'Whether the book adds up',
  reply: Invariants,
  refuses: [],
})

export const listOrderPostings = operation({
  ...get,
  id: 'operators.orderPostings',
  path: '/ledger/orders/{order_id}/postings',
  summary: 'The postings of an order of any kind',
  reply: z.array(Posting),
  refuses: ['RESOURCE.NOT_FOUND'],
})
