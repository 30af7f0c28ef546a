import * as z from 'zod'
import {
  amount,
  bizId,
  coded,
  codeOf,
  decimal,
  externalReferenceFilter,
  id,
  orderFields,
  orNone,
  pastedLine,
  statusHistory,
  text,
  timestamp,
} from '../../contract/fields.ts'

import type { LedgerTypes } from '../../contract/ledger/ledger-types.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { codedFamily, operation } from '../../kernel/index.ts'
import { orderType } from '../../ledger/order-types/contract.ts'

export const summary = 'Payouts. Operators approve and settle them.'

export const permissions = {
  workspace: { withdrawal: { sortOrder: 1000, actions: ['read', 'create'], payouts: ['create'] } },
  operator: { withdrawal: { sortOrder: 700, actions: ['read', 'approve', 'settle'], powers: ['approve', 'settle'] } },
} as const satisfies Permissions

export const withdrawalStatus = codedFamily('withdrawalStatus', {
  PENDING_APPROVAL: 10090901,
  PROCESSING: 10090902,
  COMPLETED: 10090903,
  CANCELLED: 10090904,
  REJECTED: 10090905,
  FAILED: 10090906,
  RETURNED: 10090907,
})

/** The amount is in the wallet's currency. The service checks its decimal places. */
const WithdrawalRequest = z.strictObject({
  walletBizId: id,
  withdrawalChannelBizId: id,
  amount,
  remark: orNone(text(256, 0)),
})

/** `netAmount` is the amount that is paid out: the amount minus the fee. */
const WithdrawalOrder = z.object({
  ...orderFields,
  workspaceBizId: bizId,
  walletBizId: bizId,
  withdrawalChannelBizId: bizId,
  amount: decimal,
  currency: z.string(),
  feeAmount: decimal,
  netAmount: decimal,
  remark: z.string().nullable(),
  withdrawalStatus: coded(withdrawalStatus),
  failureReason: z.string().nullable(),
  externalReference: z.string().nullable(),
  completedAt: timestamp.nullable(),
  statusHistory: statusHistory(withdrawalStatus),
})

/** The funds stay held from the request until the payout is completed or fails. A bank can return a completed payout. */
export const withdrawals = orderType('WITHDRAWAL', {
  prefix: 'WDR',
  outgoing: true,
  group: 'withdrawal',
  statuses: withdrawalStatus,
  reply: WithdrawalOrder,
  filters: {
    walletId: id.optional(),
    withdrawalStatus: codeOf(withdrawalStatus).optional(),
    ...externalReferenceFilter,
  },
  wallets: { source: 'walletBizId' },
  columns: [
    { name: 'withdrawalChannelBizId' },
    { name: 'amount', currencyIn: 'currency' },
    { name: 'currency' },
    { name: 'feeAmount', currencyIn: 'currency' },
    { name: 'netAmount', from: 'amount', minus: 'feeAmount', currencyIn: 'currency' },
    { name: 'remark' },
    { name: 'failureReason' },
    { name: 'externalReference' },
  ],
  moves: {
    create: { by: 'member', from: [], to: ['PENDING_APPROVAL'], holds: 'HELD' },
    cancel: { by: 'member', from: ['PENDING_APPROVAL'], to: ['CANCELLED'], holds: 'RELEASED' },
    approve: { by: 'operator', permission: 'withdrawal:approve', from: ['PENDING_APPROVAL'], to: ['PROCESSING'] },
    reject: {
      by: 'operator',
      permission: 'withdrawal:approve',
      from: ['PENDING_APPROVAL'],
      to: ['REJECTED'],
      holds: 'RELEASED',
      reason: 'failureReason',
      whileFrozen: true,
    },
    complete: {
      by: 'operator',
      permission: 'withdrawal:settle',
      from: ['PROCESSING'],
      to: ['COMPLETED'],
      holds: 'CAPTURED',
      sets: ['externalReference'],
    },
    fail: {
      by: 'operator',
      permission: 'withdrawal:settle',
      from: ['PROCESSING'],
      to: ['FAILED'],
      holds: 'RELEASED',
      reason: 'failureReason',
      whileFrozen: true,
    },
    return: {
      by: 'operator',
      permission: 'withdrawal:settle',
      from: ['COMPLETED'],
      to: ['RETURNED'],
      limits: 'RETURNED',
      reason: 'failureReason',
      afterEnd: true,
      whileFrozen: true,
    },
    drop: { by: 'sandbox', from: ['PENDING_APPROVAL'], to: ['CANCELLED'], holds: 'RELEASED' },
    dropPayout: { by: 'sandbox', from: ['PROCESSING'], to: ['FAILED'], holds: 'RELEASED', reason: 'failureReason' },
  },
})

export const ledgerTypes = {
  orders: { WITHDRAWAL: withdrawals },
  flowTypes: { WITHDRAWAL: 10090304 },
} as const satisfies LedgerTypes

export const events = withdrawals.events

declare global {
  interface PorticoLedger {
    withdrawals: typeof ledgerTypes
  }
  interface PorticoEvents {
    withdrawals: typeof events
  }
}

const orders = withdrawals.operations

export const listWithdrawals = operation({
  ...orders.list,
  id: 'withdrawals.list',
  path: '/withdrawals',
  summary: 'List the withdrawals of a workspace',
  policy: { ...orders.list.policy, workspace: 'optional' },
})

export const readWithdrawal = operation({
  ...orders.read,
  id: 'withdrawals.read',
  path: '/withdrawals/{withdrawal_id}',
  summary: 'Read a withdrawal',
})

export const createWithdrawal = operation({
  ...orders.create,
  id: 'withdrawals.create',
  path: '/withdrawals',
  summary: 'Request a payout and hold its funds',
  policy: { ...orders.create.policy, workspace: 'optional', stepUp: 'maybe' },
  confirms: ['walletBizId', 'withdrawalChannelBizId', 'amount'],
  purpose: ({ walletBizId: wallet, withdrawalChannelBizId: withdrawalChannel, amount }) => ({
    wallet,
    amount,
    payee: { withdrawalChannel },
  }),
  body: WithdrawalRequest,
  emits: withdrawals.emits('create'),
  refuses: [
    'RESOURCE.NOT_FOUND',
    'CHANNEL.NOT_AVAILABLE',
    'WALLET.INSUFFICIENT_FUNDS',
    'WALLET.LIMIT_EXCEEDED',
    'WALLET.NOT_ACTIVE',
    'ACCESS.PAYOUT_HOLD',
  ],
})

export const cancelWithdrawal = operation({
  ...orders.change,
  id: 'withdrawals.cancel',
  path: '/withdrawals/{withdrawal_id}/cancel',
  summary: 'Cancel an unapproved withdrawal and release its funds',
  body: 'none',
  emits: withdrawals.emits('cancel'),
})

export const listAllWithdrawals = operation({
  ...orders.listAll,
  id: 'withdrawals.listAll',
  path: '/withdrawals',
  summary: 'List the withdrawals of all workspaces',
})

export const readAnyWithdrawal = operation({
  ...orders.readAny,
  id: 'withdrawals.readAny',
  path: '/withdrawals/{withdrawal_id}',
  summary: 'Read a withdrawal of any workspace',
})

const approval = withdrawals.decision('approve')

export const approveWithdrawal = operation({
  ...approval,
  id: 'withdrawals.approve',
  path: '/withdrawals/{withdrawal_id}/approve',
  summary: 'Approve a withdrawal',
  refuses: [...approval.refuses, 'CHANNEL.NOT_AVAILABLE', 'WALLET.NOT_ACTIVE'],
})

export const rejectWithdrawal = operation({
  ...withdrawals.reasonedDecision('reject'),
  id: 'withdrawals.reject',
  path: '/withdrawals/{withdrawal_id}/reject',
  summary: 'Reject a withdrawal and release its funds',
})

/** Without a body, the handler gets undefined. */
export const completeWithdrawal = operation({
  ...withdrawals.decision('complete'),
  id: 'withdrawals.complete',
  path: '/withdrawals/{withdrawal_id}/complete',
  summary: 'Mark a withdrawal as paid and debit the wallet',
  body: z.strictObject({ externalReference: orNone(pastedLine(128, 0)) }).optional(),
})

export const failWithdrawal = operation({
  ...withdrawals.reasonedDecision('fail'),
  id: 'withdrawals.fail',
  path: '/withdrawals/{withdrawal_id}/fail',
  summary: 'Mark a withdrawal as failed and release its funds',
})

const payoutReturn = withdrawals.reasonedDecision('return')

export const returnWithdrawal = operation({
  ...payoutReturn,
  id: 'withdrawals.return',
  path: '/withdrawals/{withdrawal_id}/return',
  summary: 'Record a returned payout and credit the wallet again',
  refuses: [...payoutReturn.refuses, 'WALLET.NOT_ACTIVE'],
})
