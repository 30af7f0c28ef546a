import type { OrderId, WalletId, WorkspaceId } from '../../kernel/index.ts'
import {
  type Charge,
  type Entry,
  feeEntries,
  type NewOrder,
  type OrderMove,
  type Party,
  usageOf,
} from '../../ledger/index.ts'
import type { Recharge } from './recharge.ts'
import type { Channel } from './rules.ts'

export interface RechargeTerms extends Charge {
  wallet: WalletId
  channel: Channel
}

/** The wallet that is paid into: a frozen or closed one takes nothing. */
export const payee = (wallet: WalletId, currency: string, workspace: WorkspaceId): Party => ({
  label: 'target',
  wallet,
  workspace,
  currency,
  active: true,
  currencyField: 'walletBizId',
})

export const newRecharge = (
  { amount, fee, channel: { terms, tariff } }: RechargeTerms,
  workspace: WorkspaceId,
  expiresAt: string,
): NewOrder => ({
  workspace,
  type: 'RECHARGE',
  data: {
    channelCode: terms.channelCode,
    proofRequired: terms.proofRequired ? 'yes' : 'no',
    amount: amount.minor.toString(),
    currency: amount.currency,
    feeAmount: fee.minor.toString(),
    expiresAt,
    proofFileBizId: null,
    cancelReason: null,
    rejectReason: null,
    ...usageOf(terms.channelCode, tariff),
  },
  steps: [{ status: 'PENDING_PAYMENT' }],
})

/** What came from the outside world goes to the wallet, less the fee, which goes to the house. */
export const entriesOf = ({ net, fee }: Recharge): Entry[] => [
  { account: 'outside', amount: -net.minor, flowType: 'RECHARGE' },
  { account: 'target', amount: net.minor, flowType: 'RECHARGE' },
  ...feeEntries('outside', fee),
]

/** What the ordering workspace does with a recharge that is not paid. */
const unpaid = { type: 'RECHARGE', expected: ['PENDING_PAYMENT'] } as const

export const cancellation = (id: OrderId, workspace: WorkspaceId, reason: string): OrderMove => ({
  ...unpaid,
  id,
  workspace,
  steps: [{ status: 'CANCELLED', reason }],
  data: { cancelReason: reason },
})

export const submission = (id: OrderId, workspace: WorkspaceId, file: string): OrderMove => ({
  ...unpaid,
  id,
  workspace,
  steps: [{ status: 'PROOF_SUBMITTED' }],
  data: { proofFileBizId: file },
})

export const expiry = (id: OrderId): OrderMove => ({ ...unpaid, id, workspace: null, steps: [{ status: 'EXPIRED' }] })

/** An operator's decision; they reach every workspace's recharges, but not their own. */
const decision = { type: 'RECHARGE', workspace: null, notByCreator: true } as const

export const confirmation = (id: OrderId, { proofRequired }: Recharge): OrderMove => ({
  ...decision,
  id,
  expected: proofRequired ? ['PROOF_SUBMITTED'] : ['PENDING_PAYMENT', 'PROOF_SUBMITTED'],
  steps: [{ status: 'COMPLETED' }],
})

export const rejection = (id: OrderId, reason: string): OrderMove => ({
  ...decision,
  id,
  expected: ['PROOF_SUBMITTED'],
  steps: [{ status: 'REJECTED', reason }],
  data: { rejectReason: reason },
})
