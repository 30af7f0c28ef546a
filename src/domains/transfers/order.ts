import { z } from 'zod'
import { type Money, money, type OrderId, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import {
  type Entry,
  feeEntries,
  feeParties,
  type NewOrder,
  type Order,
  type OrderMove,
  operatorDecision,
  type Party,
  type Steps,
} from '../../ledger/index.ts'
import type { TransferTerms } from './rules.ts'

/* Maps a transfer to an order of the ledger: its data, accounts, entries and status changes. */

/** The data of the order. Amounts are strings of minor units. */
const storedData = z.object({
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  remark: z.string().nullable(),
  clientReference: z.string().nullable(),
  failureCode: z.string().nullable(),
})

/** A transfer, as its order stores it. */
export interface Transfer {
  source: WalletId
  target: WalletId
  amount: Money
  fee: Money
  remark: string | null
  clientReference: string | null
  failureCode: string | null
}

/** Returns the transfer of an order. Throws if the order is not a transfer. */
export const toTransfer = (order: Order): Transfer => {
  const { sourceWalletBizId: source, targetWalletBizId: target } = order
  if (source === null || target === null) throw new TypeError(`transfer ${order.bizId} lacks a wallet`)
  const { amount, feeAmount, currency, ...notes } = storedData.parse(order.data)
  return { source, target, amount: money(amount, currency), fee: money(feeAmount, currency), ...notes }
}

type Postings = Pick<Transfer, 'source' | 'target' | 'amount' | 'fee'>

/**
 * Returns the accounts of a transfer: both wallets, which must be active, and the fee account. The source wallet must
 * belong to the workspace.
 */
export const transferParties = ({ source, target, amount, fee }: Postings, workspace: WorkspaceId): Party[] => {
  const wallet = { currency: amount.currency, active: true, currencyField: 'currency' }
  return [
    { ...wallet, label: 'source', wallet: source, workspace },
    { ...wallet, label: 'target', wallet: target, workspace: null },
    ...feeParties(fee),
  ]
}

/** Returns the entries: the amount goes from the source to the target, and the fee to the house. */
export const transferEntries = ({ amount, fee }: Postings): Entry[] => [
  { account: 'source', amount: -amount.minor, flowType: 'TRANSFER' },
  { account: 'target', amount: amount.minor, flowType: 'TRANSFER' },
  ...feeEntries('source', fee),
]

const settled: Steps = [{ status: 'PROCESSING' }, { status: 'COMPLETED' }]

/** Returns the order of a transfer. It is completed, or pending if it needs approval. */
export const newTransfer = (terms: TransferTerms, workspace: WorkspaceId): NewOrder => ({
  workspace,
  type: 'TRANSFER',
  data: {
    amount: terms.amount.minor.toString(),
    currency: terms.amount.currency,
    feeAmount: terms.fee.minor.toString(),
    failureCode: null,
    remark: terms.remark,
    clientReference: terms.clientReference,
  },
  steps: terms.needsApproval ? [{ status: 'PENDING_APPROVAL' }] : settled,
})

/** Completes a pending transfer with its held funds. */
export const approvalMove = (id: OrderId): OrderMove => ({
  ...operatorDecision('TRANSFER', id),
  expected: ['PENDING_APPROVAL'],
  steps: settled,
  endHolds: 'CAPTURED',
})

/** Fails a pending transfer and releases its funds. */
export const rejectionMove = (id: OrderId, reason: string): OrderMove => ({
  ...operatorDecision('TRANSFER', id),
  expected: ['PENDING_APPROVAL'],
  steps: [{ status: 'FAILED', reason }],
  data: { failureCode: 'APPROVAL_REJECTED' },
  endHolds: 'RELEASED',
})
