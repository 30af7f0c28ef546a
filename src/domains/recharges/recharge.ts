import { z } from 'zod'
import { formatMoney, type Money, money, subtract, toIsoOrNull, type WalletId } from '../../kernel/index.ts'
import { type Charge, type Order, reachedAt, type Teller, tellCode, tellOrder } from '../../ledger/index.ts'
import { rechargeStatus } from './contract.ts'

/** What a recharge keeps in its order's data; amounts are minor units as text. */
const storedData = z.object({
  channelCode: z.string(),
  proofRequired: z.enum(['yes', 'no']).transform((word) => word === 'yes'),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  expiresAt: z.string(),
  proofFileBizId: z.string().nullable(),
  cancelReason: z.string().nullable(),
  rejectReason: z.string().nullable(),
})

export interface Recharge {
  wallet: WalletId
  /** What is paid in. */
  amount: Money
  fee: Money
  /** What the wallet gets of it. */
  net: Money
  /** As its channel asked when it was announced. */
  proofRequired: boolean
  told: {
    channelCode: string
    expiresAt: string
    proofFileBizId: string | null
    cancelReason: string | null
    rejectReason: string | null
  }
}

/** An order of the book read as the recharge that it is. */
export const rechargeOf = ({ bizId, targetWalletBizId: wallet, data }: Order): Recharge => {
  if (wallet === null) throw new TypeError(`recharge ${bizId} lacks its wallet`)
  const { amount: paid, feeAmount, currency, proofRequired, ...told } = storedData.parse(data)
  const [amount, fee] = [money(paid, currency), money(feeAmount, currency)]
  return { wallet, amount, fee, net: subtract(amount, fee), proofRequired, told }
}

/** The figures of a quote and of an order. */
export const tellFigures = (wallet: WalletId, channelCode: string, { amount, fee, net }: Charge) => ({
  walletBizId: wallet,
  channelCode,
  amount: formatMoney(amount),
  currency: amount.currency,
  feeAmount: formatMoney(fee),
  netAmount: formatMoney(net),
})

export const tellRecharge = (order: Order, teller: Teller) => {
  const { wallet, told, ...charge } = rechargeOf(order)
  return {
    ...tellOrder(order, rechargeStatus, teller, true),
    ...told,
    ...tellFigures(wallet, told.channelCode, charge),
    rechargeStatus: tellCode(rechargeStatus, order.status, teller),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}
