import { z } from 'zod'
import {
  type AccountId,
  type Money,
  money,
  type OrderId,
  subtract,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type CommandContext,
  dailyLimits,
  type Entry,
  feeEntries,
  type NewOrder,
  type Order,
  type OrderMove,
  operatorApproval,
  operatorDecision,
  type WalletParty,
} from '../../ledger/index.ts'
import type { WithdrawalTerms } from './rules.ts'

/* Maps a withdrawal to an order of the ledger. */

/** Amounts are strings of minor units. */
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
  /** The debited amount, including the fee. */
  amount: Money
  fee: Money
  /** Amount minus fee, which is paid out. */
  net: Money
  remark: string | null
  failureReason: string | null
  externalReference: string | null
}

/** Throws if the order is not a withdrawal. */
export const toWithdrawal = ({ bizId, sourceWalletBizId: wallet, data }: Order): Withdrawal => {
  if (wallet === null) throw new TypeError(`withdrawal ${bizId} lacks its wallet`)
  const { amount: minor, feeAmount, currency, ...notes } = storedData.parse(data)
  const [amount, fee] = [money(minor, currency), money(feeAmount, currency)]
  return { ...notes, wallet, amount, fee, net: subtract(amount, fee) }
}

export const debitedWallet = (wallet: WalletId, currency: string, workspace: WorkspaceId): WalletParty => ({
  label: 'source',
  wallet,
  workspace,
  currency,
  active: true,
  currencyField: 'walletBizId',
})

/** Returns a withdrawal that waits for approval. */
export const newWithdrawal = (terms: WithdrawalTerms, context: CommandContext<WorkspaceId>): NewOrder => ({
  workspace: context.workspace,
  type: 'WITHDRAWAL',
  data: {
    withdrawalChannelBizId: terms.channel,
    amount: terms.amount.minor.toString(),
    currency: terms.amount.currency,
    feeAmount: terms.fee.minor.toString(),
    remark: terms.remark,
    failureReason: null,
    externalReference: null,
  },
  steps: [{ status: 'PENDING_APPROVAL' }],
  usage: dailyLimits(terms.tariff, {
    usageOf: `WITHDRAWAL ${terms.channelType}`,
    amount: terms.amount,
    externalAccount: terms.accountDigest,
  }),
  outgoing: { amount: terms.amount, by: context },
})

export const withdrawalEntries = ({ net, fee }: Withdrawal): Entry[] => [
  { account: 'source', amount: -net.minor, flowType: 'WITHDRAWAL' },
  { account: 'clearing', amount: net.minor, flowType: 'WITHDRAWAL' },
  ...feeEntries('source', fee),
]

export const cancellationMove = (id: OrderId, workspace: WorkspaceId): OrderMove => ({
  id,
  type: 'WITHDRAWAL',
  workspace,
  expected: ['PENDING_APPROVAL'],
  steps: [{ status: 'CANCELLED' }],
  endHolds: 'RELEASED',
})

/**
 * The funds stay held until the payout is completed or fails. A person in `priorActors` created or verified the payout
 * account and cannot approve.
 */
export const approvalMove = (id: OrderId, priorActors: readonly AccountId[]): OrderMove => ({
  ...operatorApproval('WITHDRAWAL', id),
  priorActors,
  expected: ['PENDING_APPROVAL'],
  steps: [{ status: 'PROCESSING' }],
})

/** The status is REJECTED before the approval, and FAILED after it. */
const endWithoutPayout = (id: OrderId, from: string, to: string, reason: string): OrderMove => ({
  ...operatorDecision('WITHDRAWAL', id),
  expected: [from],
  steps: [{ status: to, reason }],
  data: { failureReason: reason },
  endHolds: 'RELEASED',
})

export const rejectionMove = (id: OrderId, reason: string): OrderMove =>
  endWithoutPayout(id, 'PENDING_APPROVAL', 'REJECTED', reason)

export const failureMove = (id: OrderId, reason: string): OrderMove =>
  endWithoutPayout(id, 'PROCESSING', 'FAILED', reason)

export const completionMove = (id: OrderId, externalReference: string | null): OrderMove => ({
  ...operatorApproval('WITHDRAWAL', id),
  expected: ['PROCESSING'],
  steps: [{ status: 'COMPLETED' }],
  data: { externalReference },
  endHolds: 'CAPTURED',
})
