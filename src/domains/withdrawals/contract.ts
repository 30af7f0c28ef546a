import * as z from 'zod'
import { amount, bizId, coded, codeOf, decimal, id, reason, text, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import { orderFields, statusHistory, workspaceFields, workspaceFilters } from '../../contract/orders.ts'

import { decision, member, money, operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Payouts. Operators approve and settle them.'

export const withdrawalStatus = codedFamily('withdrawalStatus', {
  PENDING_APPROVAL: 10090901,
  PROCESSING: 10090902,
  COMPLETED: 10090903,
  CANCELLED: 10090904,
  REJECTED: 10090905,
  FAILED: 10090906,
})
export type WithdrawalStatus = CodeOf<typeof withdrawalStatus>

/** The currency is the wallet's; whether the amount fits it is judged with the wallet at hand. */
const WithdrawalRequest = z.strictObject({
  walletBizId: id,
  withdrawalChannelBizId: id,
  amount,
  remark: text(256).optional(),
})

/** `netAmount` is what arrives outside: the amount less the fee. */
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

const sortable = ['createdAt', 'updatedAt'] as const
export const withdrawalFilters = { walletId: id.optional(), withdrawalStatus: codeOf(withdrawalStatus).optional() }

const reading = { ...member, permission: 'withdrawal:read' } as const
const creating = { ...money, permission: 'withdrawal:create' } as const
const get = { method: 'GET', chains: ['consumer'], body: 'none' } as const
const post = { method: 'POST', chains: ['consumer'], reply: WithdrawalOrder } as const

export const listWithdrawals = operation({
  ...get,
  id: 'withdrawals.list',
  path: '/withdrawals',
  summary: 'Withdrawal orders of the workspace, by filter',
  policy: { ...reading, workspace: 'optional' },
  query: listQuery(sortable, withdrawalFilters),
  reply: page(WithdrawalOrder),
  refuses: [],
})

export const readWithdrawal = operation({
  ...get,
  id: 'withdrawals.read',
  path: '/withdrawals/{withdrawal_id}',
  summary: 'One withdrawal order',
  policy: { ...reading, workspace: 'required' },
  reply: WithdrawalOrder,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const createWithdrawal = operation({
  ...post,
  id: 'withdrawals.create',
  path: '/withdrawals',
  summary: 'Ask for a payment out of a wallet; its funds are held at once',
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
  summary: 'Cancel a withdrawal that is not under way; releases its funds',
  policy: { ...creating, workspace: 'required' },
  body: 'none',
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

const seen = { ...get, chains: ['system'], policy: { ...operator, permission: 'withdrawal:read' } } as const
const decided = { ...post, chains: ['system'], refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'] } as const
const approving = { ...decision, permission: 'withdrawal:approve' } as const
const settling = { ...decision, permission: 'withdrawal:settle' } as const

export const listAllWithdrawals = operation({
  ...seen,
  id: 'withdrawals.listAll',
  path: '/withdrawals',
  summary: 'Withdrawal orders of every workspace, by filter',
  query: listQuery(sortable, { ...withdrawalFilters, ...workspaceFilters }),
  reply: page(WithdrawalOrder.extend(workspaceFields)),
  refuses: [],
})

export const readAnyWithdrawal = operation({
  ...seen,
  id: 'withdrawals.readAny',
  path: '/withdrawals/{withdrawal_id}',
  summary: 'One withdrawal order of any workspace',
  reply: WithdrawalOrder.extend(workspaceFields),
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const approveWithdrawal = operation({
  ...decided,
  id: 'withdrawals.approve',
  path: '/withdrawals/{withdrawal_id}/approve',
  summary: 'Let a withdrawal go under way; never one’s own',
  policy: approving,
  body: 'none',
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'CHANNEL.NOT_AVAILABLE', 'WALLET.NOT_ACTIVE'],
})

export const rejectWithdrawal = operation({
  ...decided,
  id: 'withdrawals.reject',
  path: '/withdrawals/{withdrawal_id}/reject',
  summary: 'Refuse a withdrawal; releases its funds',
  policy: approving,
  body: z.strictObject({ reason }),
})

/** The body may be absent: it then reaches the handler as undefined. */
export const completeWithdrawal = operation({
  ...decided,
  id: 'withdrawals.complete',
  path: '/withdrawals/{withdrawal_id}/complete',
  summary: 'The payment has been made: take the held funds',
  policy: settling,
  body: z.strictObject({ externalReference: text(128).optional() }).optional(),
})

export const failWithdrawal = operation({
  ...decided,
  id: 'withdrawals.fail',
  path: '/withdrawals/{withdrawal_id}/fail',
  summary: 'The payment could not be made; releases its funds',
  policy: settling,
  body: z.strictObject({ reason }),
})
