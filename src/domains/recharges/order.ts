import { z } from 'zod'
import { type Money, money, type OrderId, subtract, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import {
  dailyUsageData,
  type Entry,
  feeEntries,
  type NewOrder,
  type Order,
  type OrderMove,
  operatorDecision,
  type Party,
} from '../../ledger/index.ts'
import type { RechargeTerms } from './rules.ts'

/* Maps a recharge to an order of the ledger: its data, accounts, entries and status changes. */

/** The data of the order. Amounts are strings of minor units. */
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

/** A recharge, as its order stores it. */
export interface Recharge {
  wallet: WalletId
  /** The incoming payment. */
  amount: Money
  fee: Money
  /** The amount that is credited to the wallet: the amount minus the fee. */
  net: Money
  /** Whether the channel required a proof when the recharge was created. */
  proofRequired: boolean
  details: {
    channelCode: string
    expiresAt: string
    proofFileBizId: string | null
    cancelReason: string | null
    rejectReason: string | null
  }
}

/** Returns the recharge of an order. Throws if the order is not a recharge. */
export const toRecharge = ({ bizId, targetWalletBizId: wallet, data }: Order): Recharge => {
  if (wallet === null) throw new TypeError(`recharge ${bizId} lacks its wallet`)
  const { amount: minor, feeAmount, currency, proofRequired, ...details } = storedData.parse(data)
  const [amount, fee] = [money(minor, currency), money(feeAmount, currency)]
  return { wallet, amount, fee, net: subtract(amount, fee), proofRequired, details }
}

/** Returns the credited wallet as a party. It must be active. */
export const creditedWallet = (wallet: WalletId, currency: string, workspace: WorkspaceId): Party => ({
  label: 'target',
  wallet,
  workspace,
  currency,
  active: true,
  currencyField: 'walletBizId',
})

/** Returns a recharge that waits for its payment. */
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
    cancelReason: null,
    rejectReason: null,
    ...dailyUsageData(settings.channelCode, tariff),
  },
  steps: [{ status: 'PENDING_PAYMENT' }],
})

/** Returns the entries: the net amount goes from CLEARING to the wallet, and the fee to the house. */
export const rechargeEntries = ({ net, fee }: Recharge): Entry[] => [
  { account: 'clearing', amount: -net.minor, flowType: 'RECHARGE' },
  { account: 'target', amount: net.minor, flowType: 'RECHARGE' },
  ...feeEntries('clearing', fee),
]

const unpaid = { type: 'RECHARGE', expected: ['PENDING_PAYMENT'] } as const

/** Cancels an unpaid recharge. */
export const cancellationMove = (id: OrderId, workspace: WorkspaceId, reason: string): OrderMove => ({
  ...unpaid,
  id,
  workspace,
  steps: [{ status: 'CANCELLED', reason }],
  data: { cancelReason: reason },
})

/** Records the proof of payment. */
export const proofMove = (id: OrderId, workspace: WorkspaceId, file: string): OrderMove => ({
  ...unpaid,
  id,
  workspace,
  steps: [{ status: 'PROOF_SUBMITTED' }],
  data: { proofFileBizId: file },
})

/** Expires an unpaid recharge. */
export const expiryMove = (id: OrderId): OrderMove => ({
  ...unpaid,
  id,
  workspace: null,
  steps: [{ status: 'EXPIRED' }],
})

/** Completes a recharge. If its channel requires a proof, the proof must have been submitted. */
export const confirmationMove = (id: OrderId, { proofRequired }: Recharge): OrderMove => ({
  ...operatorDecision('RECHARGE', id),
  expected: proofRequired ? ['PROOF_SUBMITTED'] : ['PENDING_PAYMENT', 'PROOF_SUBMITTED'],
  steps: [{ status: 'COMPLETED' }],
})

/** Rejects a recharge with a proof. */
export const rejectionMove = (id: OrderId, reason: string): OrderMove => ({
  ...operatorDecision('RECHARGE', id),
  expected: ['PROOF_SUBMITTED'],
  steps: [{ status: 'REJECTED', reason }],
  data: { rejectReason: reason },
})
