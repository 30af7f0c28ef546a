import { z } from 'zod'
import { type Money, money, type OrderId, subtract, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import {
  dailyLimits,
  type Entry,
  feeEntries,
  type NewOrder,
  type Order,
  type OrderMove,
  operatorApproval,
  operatorDecision,
  type Party,
} from '../../ledger/index.ts'
import type { RechargeTerms } from './rules.ts'

/* Maps a recharge to an order of the ledger. */

/** Amounts are strings of minor units. */
const storedData = z.object({
  channelCode: z.string(),
  proofRequired: z.enum(['yes', 'no']).transform((word) => word === 'yes'),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  expiresAt: z.string(),
  proofFileBizId: z.string().nullable(),
  /** Hex. The database compares it with the proofs of other recharges. */
  proofSha256: z.string().nullable(),
  externalReference: z.string().nullable(),
  cancelReason: z.string().nullable(),
  rejectReason: z.string().nullable(),
})

export interface Recharge {
  wallet: WalletId
  /** The incoming payment. */
  amount: Money
  fee: Money
  /** Amount minus fee, which is credited to the wallet. */
  net: Money
  /** Whether the channel required a proof at creation. */
  proofRequired: boolean
  details: {
    channelCode: string
    expiresAt: string
    proofFileBizId: string | null
    externalReference: string | null
    cancelReason: string | null
    rejectReason: string | null
  }
}

/** Throws if the order is not a recharge. */
export const toRecharge = ({ bizId, targetWalletBizId: wallet, data }: Order): Recharge => {
  if (wallet === null) throw new TypeError(`recharge ${bizId} lacks its wallet`)
  const { amount: minor, feeAmount, currency, proofRequired, proofSha256: _, ...details } = storedData.parse(data)
  const [amount, fee] = [money(minor, currency), money(feeAmount, currency)]
  return { wallet, amount, fee, net: subtract(amount, fee), proofRequired, details }
}

export const creditedWallet = (wallet: WalletId, currency: string, workspace: WorkspaceId): Party => ({
  label: 'target',
  wallet,
  workspace,
  currency,
  active: true,
  currencyField: 'walletBizId',
})

/** Orders with this name count towards the daily limit of the channel. */
export const usageOf = (channelCode: string): string => `RECHARGE ${channelCode}`

export const newRecharge = (
  { amount, fee, channel: { settings, tariff } }: RechargeTerms,
  workspace: WorkspaceId,
  expiresAt: string,
): NewOrder => ({
  workspace,
  type: 'RECHARGE',
  data: {
    channelCode: settings.channelCode,
    proofRequired: settings.proofRequired ? 'yes' : 'no',
    amount: amount.minor.toString(),
    currency: amount.currency,
    feeAmount: fee.minor.toString(),
    expiresAt,
    proofFileBizId: null,
    proofSha256: null,
    externalReference: null,
    cancelReason: null,
    rejectReason: null,
  },
  usage: dailyLimits(tariff, { usageOf: usageOf(settings.channelCode), amount }),
  steps: [{ status: 'PENDING_PAYMENT' }],
})

export const rechargeEntries = ({ net, fee }: Recharge): Entry[] => [
  { account: 'clearing', amount: -net.minor, flowType: 'RECHARGE' },
  { account: 'target', amount: net.minor, flowType: 'RECHARGE' },
  ...feeEntries('clearing', fee),
]

const unpaid = { type: 'RECHARGE', expected: ['PENDING_PAYMENT'] } as const

export const cancellationMove = (id: OrderId, workspace: WorkspaceId, reason: string): OrderMove => ({
  ...unpaid,
  id,
  workspace,
  steps: [{ status: 'CANCELLED', reason }],
  data: { cancelReason: reason },
})

export const proofMove = (
  id: OrderId,
  workspace: WorkspaceId,
  { file, sha256 }: { file: string; sha256: string },
): OrderMove => ({
  ...unpaid,
  id,
  workspace,
  steps: [{ status: 'PROOF_SUBMITTED' }],
  data: { proofFileBizId: file, proofSha256: sha256 },
})

export const expiryMove = (id: OrderId): OrderMove => ({
  ...unpaid,
  id,
  workspace: null,
  steps: [{ status: 'EXPIRED' }],
})

export const confirmationMove = (
  id: OrderId,
  { proofRequired }: Recharge,
  externalReference: string | null,
): OrderMove => ({
  ...operatorApproval('RECHARGE', id),
  expected: proofRequired ? ['PROOF_SUBMITTED'] : ['PENDING_PAYMENT', 'PROOF_SUBMITTED'],
  steps: [{ status: 'COMPLETED' }],
  data: { externalReference },
})

export const rejectionMove = (id: OrderId, reason: string): OrderMove => ({
  ...operatorDecision('RECHARGE', id),
  expected: ['PROOF_SUBMITTED'],
  steps: [{ status: 'REJECTED', reason }],
  data: { rejectReason: reason },
})
