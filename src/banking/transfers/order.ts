import { z } from 'zod'
import { type Instant, type Money, money, toIso, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import {
  type CommandContext,
  type Entry,
  feeEntries,
  feeParties,
  type Opening,
  type Order,
  type Party,
  type Usage,
} from '../../ledger/index.ts'
import type { TransferTerms } from './rules.ts'

/* Maps a transfer to an order of the ledger. */

/** Amounts are strings of minor units. */
const storedData = z.object({
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  remark: z.string().nullable(),
  clientReference: z.string().nullable(),
  failureCode: z.string().nullable(),
})

export interface Transfer {
  source: WalletId
  target: WalletId
  amount: Money
  fee: Money
  remark: string | null
  clientReference: string | null
  failureCode: string | null
}

/** Throws if the order is not a transfer. */
export function toTransfer(order: Order): Transfer {
  const { sourceWalletBizId: source, targetWalletBizId: target } = order
  if (source === null || target === null) throw new TypeError(`transfer ${order.bizId} lacks a wallet`)
  const { amount, feeAmount, currency, ...notes } = storedData.parse(order.data)
  return { source, target, amount: money(amount, currency), fee: money(feeAmount, currency), ...notes }
}

/** Without an approval, the transfer expires at `expiresAt`. */
export function newTransfer(terms: TransferTerms, context: CommandContext<WorkspaceId>, expiresAt: Instant): Opening {
  return {
    parties: transferParties(terms, context.workspace),
    ...(terms.needsApproval
      ? { holds: [{ account: 'source', amount: terms.amount.minor + terms.fee.minor }] }
      : { entries: transferEntries(terms) }),
    order: {
      data: {
        amount: terms.amount.minor.toString(),
        currency: terms.amount.currency,
        feeAmount: terms.fee.minor.toString(),
        failureCode: null,
        remark: terms.remark,
        clientReference: terms.clientReference,
        ...(terms.needsApproval && { expiresAt: toIso(expiresAt) }),
      },
      usage: withoutApproval(terms),
      outgoing: { amount: terms.amount, leaving: true, by: context },
    },
  }
}

export function approvedPostings(order: Order) {
  const transfer = toTransfer(order)
  return { parties: transferParties(transfer, order.workspaceBizId), entries: transferEntries(transfer) }
}

type Postings = Pick<Transfer, 'source' | 'target' | 'amount' | 'fee'>

/** Both wallets must be active. The source wallet must belong to the workspace. */
function transferParties({ source, target, amount, fee }: Postings, workspace: WorkspaceId): Party[] {
  const wallet = { currency: amount.currency, active: true, currencyField: 'currency' }
  return [
    { ...wallet, label: 'source', wallet: source, workspace },
    { ...wallet, label: 'target', wallet: target, workspace: null },
    ...feeParties(fee),
  ]
}

function transferEntries({ amount, fee }: Postings): Entry[] {
  return [
    { account: 'source', amount: -amount.minor, flowType: 'TRANSFER' },
    { account: 'target', amount: amount.minor, flowType: 'TRANSFER' },
    ...feeEntries('source', fee),
  ]
}

/**
 * A rolling sum of a person's transfers that complete without approval. Transfers above its maximum need approval, so
 * that splitting an amount does not avoid it.
 */
function withoutApproval({ amount, needsApproval, maxWithoutApproval: max }: TransferTerms): Usage[] {
  return needsApproval || max === null
    ? []
    : [{ of: 'PERSON', usageOf: 'TRANSFER WITHOUT APPROVAL', amount, max, exceeded: null }]
}
