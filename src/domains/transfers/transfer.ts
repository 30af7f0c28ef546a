import { z } from 'zod'
import { type Money, money, type WalletId } from '../../kernel/index.ts'
import type { Order } from '../../ledger/index.ts'

/** What a transfer keeps in its order's data; amounts are minor units as text. */
const storedData = z.object({
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  remark: z.string().nullable(),
  clientReference: z.string().nullable(),
  failureCode: z.string().nullable(),
})

export interface Transfer {
  order: Order
  source: WalletId
  target: WalletId
  amount: Money
  fee: Money
  remark: string | null
  clientReference: string | null
  failureCode: string | null
}

/** An order of the book read as the transfer that it is. */
export const transferOf = (order: Order): Transfer => {
  const { sourceWalletBizId: source, targetWalletBizId: target } = order
  if (source === null || target === null) throw new TypeError(`transfer ${order.bizId} lacks a wallet`)
  const { amount, feeAmount, currency, ...notes } = storedData.parse(order.data)
  return { order, source, target, amount: money(amount, currency), fee: money(feeAmount, currency), ...notes }
}
