import type { OrderId, WalletId, WorkspaceId } from '../../kernel/index.ts'
import {
  type Charge,
  type Entry,
  feeEntries,
  type NewOrder,
  type OrderMove,
  type Party,
  type Tariff,
  usageOf,
} from '../../ledger/index.ts'
import type { PayoutType } from './rules.ts'
import type { Withdrawal } from './withdrawal.ts'

export interface WithdrawalTerms extends Charge {
  wallet: WalletId
  channel: string
  channelType: PayoutType
  tariff: Tariff
  remark: string | null
}

/** The wallet that pays. A frozen one starts nothing and is let no further, but what has been paid out is taken from it. */
export const payer = (wallet: WalletId, currency: string, workspace: WorkspaceId, active: boolean): Party => ({
  label: 'source',
  wallet,
  workspace,
  currency,
  active,
  currencyField: 'walletBizId',
})

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
    ...usageOf(terms.channelType, terms.tariff),
  },
  steps: [{ status: 'PENDING_APPROVAL' }],
})

/** The net leaves for the outside world, the fee for the house. */
export const entriesOf = ({ net, fee }: Withdrawal): Entry[] => [
  { account: 'source', amount: -net.minor, flowType: 'WITHDRAWAL' },
  { account: 'outside', amount: net.minor, flowType: 'WITHDRAWAL' },
  ...feeEntries('source', fee),
]

export const cancellation = (id: OrderId, workspace: WorkspaceId): OrderMove => ({
  id,
  type: 'WITHDRAWAL',
  workspace,
  expected: ['PENDING_APPROVAL'],
  steps: [{ status: 'CANCELLED' }],
  endHolds: 'RELEASED',
})

/** An operator's decision; they reach every workspace's withdrawals, but not their own. */
const decision = { type: 'WITHDRAWAL', workspace: null, notByCreator: true } as const
const pending = { ...decision, expected: ['PENDING_APPROVAL'] } as const
const underWay = { ...decision, expected: ['PROCESSING'] } as const

/** The funds stay held until it is known what became of the payment. */
export const approval = (id: OrderId): OrderMove => ({ ...pending, id, steps: [{ status: 'PROCESSING' }] })

export const rejection = (id: OrderId, reason: string): OrderMove => ({
  ...pending,
  id,
  steps: [{ status: 'REJECTED', reason }],
  data: { failureReason: reason },
  endHolds: 'RELEASED',
})

export const completion = (id: OrderId, externalReference: string | null): OrderMove => ({
  ...underWay,
  id,
  steps: [{ status: 'COMPLETED' }],
  data: { externalReference },
  endHolds: 'CAPTURED',
})

export const failure = (id: OrderId, reason: string): OrderMove => ({
  ...underWay,
  id,
  steps: [{ status: 'FAILED', reason }],
  data: { failureReason: reason },
  endHolds: 'RELEASED',
})
