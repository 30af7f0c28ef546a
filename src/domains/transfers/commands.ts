import type { OrderId, WorkspaceId } from '../../kernel/index.ts'
import {
  type Entry,
  feeEntries,
  feeParties,
  type NewOrder,
  type OrderMove,
  type Party,
  type Steps,
} from '../../ledger/index.ts'
import type { TransferTerms } from './rules.ts'

/** The least that has to be known to move the money. */
export type TransferMoney = Pick<TransferTerms, 'source' | 'target' | 'amount' | 'fee'>

/** Both wallets must be alive, the source within the workspace; the house comes in only where there is a fee. */
export const partiesOf = ({ source, target, amount, fee }: TransferMoney, workspace: WorkspaceId): Party[] => {
  const wallet = { currency: amount.currency, active: true, currencyField: 'currency' }
  return [
    { ...wallet, label: 'source', wallet: source, workspace },
    { ...wallet, label: 'target', wallet: target, workspace: null },
    ...feeParties(fee),
  ]
}

export const entriesOf = ({ amount, fee }: TransferMoney): Entry[] => [
  { account: 'source', amount: -amount.minor, flowType: 'TRANSFER' },
  { account: 'target', amount: amount.minor, flowType: 'TRANSFER' },
  ...feeEntries('source', fee),
]

const settled: Steps = [{ status: 'PROCESSING' }, { status: 'COMPLETED' }]

export const newTransfer = (
  { amount, fee, needsApproval }: TransferTerms,
  workspace: WorkspaceId,
  notes: { remark: string | null; clientReference: string | null },
): NewOrder => ({
  workspace,
  type: 'TRANSFER',
  data: {
    amount: amount.minor.toString(),
    currency: amount.currency,
    feeAmount: fee.minor.toString(),
    failureCode: null,
    ...notes,
  },
  steps: needsApproval ? [{ status: 'PENDING_APPROVAL' }] : settled,
})

/** An operator's decision over a pending transfer; they reach every workspace's, but not their own. */
const decision = { type: 'TRANSFER', workspace: null, expected: ['PENDING_APPROVAL'], notByCreator: true } as const

export const approval = (id: OrderId): OrderMove => ({ ...decision, id, steps: settled, endHolds: 'CAPTURED' })

export const rejection = (id: OrderId, reason: string): OrderMove => ({
  ...decision,
  id,
  steps: [{ status: 'FAILED', reason }],
  data: { failureCode: 'APPROVAL_REJECTED' },
  endHolds: 'RELEASED',
})
