import { z } from 'zod'
import { formatMoney, type Money, money, subtract, toIsoOrNull, type WalletId } from '../../kernel/index.ts'
import { type Order, reachedAt, type Teller, tellCode, tellOrder } from '../../ledger/index.ts'
import { withdrawalStatus } from './contract.ts'

/** What a withdrawal keeps in its order's data; amounts are minor units as text. */
const storedData = z.object({
  withdrawalChannelBizId: z.string(),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  remark: z.string().nullable(),
  failureReason: z.string().nullable(),
  externalReference: z.string().nullable(),
})

export interface Withdrawal {
  wallet: WalletId
  withdrawalChannelBizId: string
  /** What leaves the wallet, the fee included. */
  amount: Money
  fee: Money
  /** What arrives outside. */
  net: Money
  remark: string | null
  failureReason: string | null
  externalReference: string | null
}

/** An order of the book read as the withdrawal that it is. */
export const withdrawalOf = ({ bizId, sourceWalletBizId: wallet, data }: Order): Withdrawal => {
  if (wallet === null) throw new TypeError(`withdrawal ${bizId} lacks its wallet`)
  const { amount, feeAmount, currency, ...notes } = storedData.parse(data)
  const [whole, fee] = [money(amount, currency), money(feeAmount, currency)]
  return { ...notes, wallet, amount: whole, fee, net: subtract(whole, fee) }
}

export const tellWithdrawal = (order: Order, teller: Teller) => {
  const { wallet, amount, fee, net, ...notes } = withdrawalOf(order)
  return {
    ...tellOrder(order, withdrawalStatus, teller, true),
    ...notes,
    walletBizId: wallet,
    amount: formatMoney(amount),
    currency: amount.currency,
    feeAmount: formatMoney(fee),
    netAmount: formatMoney(net),
    withdrawalStatus: tellCode(withdrawalStatus, order.status, teller),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}
