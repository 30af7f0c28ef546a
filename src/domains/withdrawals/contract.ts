import * as z from 'zod'
import {
  amount,
  bizId,
  coded,
  codeOf,
  decimal,
  id,
  orderFields,
  statusHistory,
  text,
  timestamp,
} from '../../contract/fields.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member, money } from '../../contract/policies.ts'

import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'
import {
  operatorOrderList,
  operatorOrderRead,
  orderDecision,
  orderList,
  orderRead,
  reasonedOrderDecision,
} from '../../ledger/contract.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Payouts. Operators approve and settle them.'

export const permissions = {
  workspace: { withdrawal: { sortOrder: 1000, actions: ['read', 'create'] } },
  operator: { withdrawal: { sortOrder: 700, actions: ['read', 'approve', 'settle'] } },
} as const satisfies Permissions

export const withdrawalStatus = codedFamily('withdrawalStatus', {
  PENDING_APPROVAL: 10090901,
  PROCESSING: 10090902,
  COMPLETED: 10090903,
  CANCELLED: 10090904,
  REJECTED: 10090905,
  FAILED: 10090906,
})
export type WithdrawalStatus = CodeOf<typeof withdrawalStatus>

/** The currency is that of the wallet, so the service checks whether the amount fits it. */
const WithdrawalRequest = z.strictObject({
  walletBizId: id,
  withdrawalChannelBizId: id,
  amount,
  remark: text(256).optional(),
})

/** `netAmount` is the payout: the amount less the fee. */
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

export const withdrawalFilters = { walletId: id.optional(), withdrawalStatus: codeOf(withdrawalStatus).optional() }

const reading = { ...member, permission: 'withdrawal:read' } as const
const creating = { ...money, permission: 'withdrawal:create' } as const
const post = { method: 'POST', chains: ['consumer'], reply: WithdrawalOrder } as const

export const listWithdrawals = operation({
  ...orderList(WithdrawalOrder, withdrawalFilters),
  id: 'withdrawals.list',
  path: '/withdrawals',
  chains: ['consumer'],
  summary: 'List the withdrawals of a workspace',
  policy: { ...reading, workspace: 'optional' },
})

export const readWithdrawal = operation({
  ...orderRead(WithdrawalOrder),
  id: 'withdrawals.read',
  path: '/withdrawals/{withdrawal_id}',
  chains: ['consumer'],
  summary: 'Read a withdrawal',
  policy: { ...reading, workspace: 'required' },
})

export const createWithdrawal = operation({
  ...post,
  id: 'withdrawals.create',
  path: '/withdrawals',
  summary: 'Request a payout and hold its funds',
  policy: { ...creating, workspace: 'optional' },
  body: WithdrawalRequest,
  refuses: [
    'RESOURCE.NOT_FOUND',
    'CHANNEL.NOT_AVAILABLE',
    'WALLET.INSUFFICIENT_FUNDS',
    'WALLET.LIMIT_EXCEEDED',
    'WALLET.NOT_ACTIVE',
  ],
})

export const cancelWithdrawal = operation({
  ...post,
  id: 'withdrawals.cancel',
  path: '/withdrawals/{withdrawal_id}/cancel',
  summary: 'Cancel an unapproved withdrawal and release its funds',
  policy: { ...creating, workspace: 'required' },
  body: 'none',
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

export const listAllWithdrawals = operation({
  ...operatorOrderList(WithdrawalOrder, withdrawalFilters, 'withdrawal:read'),
  id: 'withdrawals.listAll',
  path: '/withdrawals',
  summary: 'List the withdrawals of all workspaces',
})

export const readAnyWithdrawal = operation({
  ...operatorOrderRead(WithdrawalOrder, 'withdrawal:read'),
  id: 'withdrawals.readAny',
  path: '/withdrawals/{withdrawal_id}',
  summary: 'Read a withdrawal of any workspace',
})

const approval = orderDecision(WithdrawalOrder, 'withdrawal:approve')

export const approveWithdrawal = operation({
  ...approval,
  id: 'withdrawals.approve',
  path: '/withdrawals/{withdrawal_id}/approve',
  summary: 'Approve a withdrawal of another person',
  refuses: [...approval.refuses, 'CHANNEL.NOT_AVAILABLE', 'WALLET.NOT_ACTIVE'],
})

export const rejectWithdrawal = operation({
  ...reasonedOrderDecision(WithdrawalOrder, 'withdrawal:approve'),
  id: 'withdrawals.reject',
  path: '/withdrawals/{withdrawal_id}/reject',
  summary: 'Reject a withdrawal and release its funds',
})

/** The body is optional: without one the handler gets undefined. */
export const completeWithdrawal = operation({
  ...orderDecision(WithdrawalOrder, 'withdrawal:settle'),
  id: 'withdrawals.complete',
  path: '/withdrawals/{withdrawal_id}/complete',
  summary: 'Mark a withdrawal as paid and post its funds',
  body: z.strictObject({ externalReference: text(128).optional() }).optional(),
})

export const failWithdrawal = operation({
  ...reasonedOrderDecision(WithdrawalOrder, 'withdrawal:settle'),
  id: 'withdrawals.fail',
  path: '/withdrawals/{withdrawal_id}/fail',
  summary: 'Mark a withdrawal as failed and release its funds',
})
