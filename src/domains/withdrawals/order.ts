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
  type WalletParty,
} from '../../ledger/index.ts'
import type { WithdrawalTerms } from './rules.ts'

/* Maps a withdrawal to an order of the ledger: its data, accounts, entries and status changes. */

/** The data of the order. Amounts are strings of minor units. */
const storedData = z.object({
  withdrawalChannelBizId: z.string(),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  remark: z.string().nullable(),
  failureReason: z.string().nullable(),
  externalReference: z.string().nullable(),
})

/** A withdrawal, as its order stores it. */
export interface Withdrawal {
  wallet: WalletId
  withdrawalChannelBizId: string
  /** The amount that is debited from the wallet, including the fee. */
  amount: Money
  fee: Money
  /** The amount that is paid out: the amount minus the fee. */
  net: Money
  remark: string | null
  failureReason: string | null
  externalReference: string | null
}

/** Returns the withdrawal of an order. Throws if the order is not a withdrawal. */
export const toWithdrawal = ({ bizId, sourceWalletBizId: wallet, data }: Order): Withdrawal => {
  if (wallet === null) throw new TypeError(`withdrawal ${bizId} lacks its wallet`)
  const { amount: minor, feeAmount, currency, ...notes } = storedData.parse(data)
  const [amount, fee] = [money(minor, currency), money(feeAmount, currency)]
  return { ...notes, wallet, amount, fee, net: subtract(amount, fee) }
}

/** Returns the debited wallet as a party. It must be active. */
export const debitedWallet = (wallet: WalletId, currency: string, workspace: WorkspaceId): WalletParty => ({
  label: 'source',
  wallet,
  workspace,
  currency,
  active: true,
  currencyField: 'walletBizId',
})

/** Returns a withdrawal that waits for approval. */
export const newWithdrawal = (terms: WithdrawalTerms, workspace: WorkspaceId): NewOrder => ({
  workspace,
  type: 'WITHDRAWAL',
  data: {
    withdrawalChannelBizId: terms.channel,
    amount: terms.amount.minor.toString(),
    currency: terms.amount.currency,
    feeAmount: terms.fee.minor.toString(),
    remark: terms.remark,
    failureReason: null,
    externalReference: null,
    ...dailyUsageData(terms.channelType, terms.tariff),
  },
  steps: [{ status: 'PENDING_APPROVAL' }],
})

/** Returns the entries: the net amount goes to CLEARING, and the fee to the house. */
export const withdrawalEntries = ({ net, fee }: Withdrawal): Entry[] => [
  { account: 'source', amount: -net.minor, flowType: 'WITHDRAWAL' },
  { account: 'clearing', amount: net.minor, flowType: 'WITHDRAWAL' },
  ...feeEntries('source', fee),
]

/** Cancels a withdrawal before its approval and releases its funds. */
export const cancellationMove = (id: OrderId, workspace: WorkspaceId): OrderMove => ({
  id,
  type: 'WITHDRAWAL',
  workspace,
  expected: ['PENDING_APPROVAL'],
  steps: [{ status: 'CANCELLED' }],
  endHolds: 'RELEASED',
})

/** Approves a withdrawal. The funds stay held until the payout is completed or fails. */
export const approvalMove = (id: OrderId): OrderMove => ({
  ...operatorDecision('WITHDRAWAL', id),
  expected: ['PENDING_APPROVAL'],
  steps: [{ status: 'PROCESSING' }],
})

/** Ends a withdrawal without a payout. The status is REJECTED before the approval, and FAILED after it. */
const endWithoutPayout = (id: OrderId, from: string, to: string, reason: string): OrderMove => ({
  ...operatorDecision('WITHDRAWAL', id),
  expected: [from],
  steps: [{ status: to, reason }],
  data: { failureReason: reason },
  endHolds: 'RELEASED',
})

/** Rejects a withdrawal before its approval. */
export const rejectionMove = (id: OrderId, reason: string): OrderMove =>
  endWithoutPayout(id, 'PENDING_APPROVAL', 'REJECTED', reason)

/** Fails an approved withdrawal. */
export const failureMove = (id: OrderId, reason: string): OrderMove =>
  endWithoutPayout(id, 'PROCESSING', 'FAILED', reason)

/** Completes an approved withdrawal with its held funds. */
export const completionMove = (id: OrderId, externalReference: string | null): OrderMove => ({
  ...operatorDecision('WITHDRAWAL', id),
  expected: ['PROCESSING'],
  steps: [{ status: 'COMPLETED' }],
  data: { externalReference },
  endHolds: 'CAPTURED',
})
