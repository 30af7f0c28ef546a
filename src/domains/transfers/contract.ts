import * as z from 'zod'
import {
  amount,
  bizId,
  coded,
  codeOf,
  currency,
  decimal,
  fitsCurrency,
  id,
  reason,
  text,
  timestamp,
} from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import { orderFields, statusHistory, workspaceFields, workspaceFilters } from '../../contract/orders.ts'

import { decision, member, money, operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Transfers between wallets. Operators approve those above a limit.'

export const transferStatus = codedFamily('transferStatus', {
  PENDING_APPROVAL: 10090201,
  PROCESSING: 10090202,
  COMPLETED: 10090203,
  FAILED: 10090204,
})
export type TransferStatus = CodeOf<typeof transferStatus>

const TransferRequest = z
  .strictObject({
    sourceWalletBizId: id,
    targetWalletBizId: id,
    amount,
    currency,
    remark: text(256).optional(),
    clientReference: text(64).optional(),
  })
  .refine((body) => fitsCurrency(body.amount, body.currency), { path: ['amount'] })
  .refine((body) => body.sourceWalletBizId !== body.targetWalletBizId, { path: ['targetWalletBizId'] })

const TransferOrder = z.object({
  ...orderFields,
  workspaceBizId: bizId,
  sourceWalletBizId: bizId,
  targetWalletBizId: bizId,
  amount: decimal,
  currency: z.string(),
  feeAmount: decimal,
  remark: z.string().nullable(),
  clientReference: z.string().nullable(),
  transferStatus: coded(transferStatus),
  failureCode: z.string().nullable(),
  completedAt: timestamp.nullable(),
  statusHistory: statusHistory(transferStatus),
})

const sortable = ['createdAt', 'updatedAt'] as const
const walletTransferFilters = { transferStatus: codeOf(transferStatus).optional() }
export const transferFilters = { walletId: id.optional(), ...walletTransferFilters }

const read = {
  method: 'GET',
  chains: ['consumer', 'api'],
  body: 'none',
} as const

const readPolicy = { ...member, permission: 'transfer:read' } as const

export const createTransfer = operation({
  id: 'transfers.create',
  method: 'POST',
  path: '/transfer/command/create',
  chains: ['consumer', 'api'],
  summary: 'Move funds between two wallets',
  policy: { ...money, workspace: 'optional', permission: 'transfer:create' },
  body: TransferRequest,
  reply: TransferOrder,
  refuses: ['RESOURCE.NOT_FOUND', 'WALLET.INSUFFICIENT_FUNDS', 'WALLET.NOT_ACTIVE'],
})

export const listTransfers = operation({
  ...read,
  id: 'transfers.list',
  path: '/transfer/query/orders',
  summary: 'Transfer orders of the workspace, by filter',
  policy: { ...readPolicy, workspace: 'optional' },
  query: listQuery(sortable, transferFilters),
  reply: page(TransferOrder),
  refuses: [],
})

export const listWalletTransfers = operation({
  ...read,
  id: 'transfers.listOfWallet',
  path: '/transfer/query/orders/wallet/{wallet_id}',
  summary: 'Transfer orders of one wallet; empty for an unknown one',
  policy: { ...readPolicy, workspace: 'required' },
  query: listQuery(sortable, walletTransferFilters),
  reply: page(TransferOrder),
  refuses: [],
})

export const readTransfer = operation({
  ...read,
  id: 'transfers.read',
  path: '/transfer/query/orders/{order_id}',
  summary: 'One transfer order',
  policy: { ...readPolicy, workspace: 'required' },
  reply: TransferOrder,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const isTransferCompleted = operation({
  ...read,
  id: 'transfers.completed',
  path: '/transfer/query/orders/{order_id}/completed',
  summary: 'Whether a transfer order is completed',
  policy: { ...readPolicy, workspace: 'required' },
  reply: z.boolean(),
  malformedParam: 'VALIDATION.INVALID_PARAMETER',
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const listPendingTransfers = operation({
  id: 'transfers.listPending',
  method: 'GET',
  path: '/transfers/pending',
  chains: ['system'],
  summary: 'Transfers that wait for approval',
  policy: { ...operator, permission: 'transfer:read' },
  query: listQuery(sortable, workspaceFilters),
  body: 'none',
  reply: page(TransferOrder.extend(workspaceFields)),
  refuses: [],
})

const decided = {
  method: 'POST',
  chains: ['system'],
  reply: TransferOrder,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const
const decisionPolicy = { ...decision, permission: 'transfer:approve' } as const

export const approveTransfer = operation({
  ...decided,
  id: 'transfers.approve',
  path: '/transfers/{order_id}/approve',
  summary: 'Let a pending transfer happen; never one’s own',
  policy: decisionPolicy,
  body: 'none',
  refuses: [...decided.refuses, 'WALLET.NOT_ACTIVE'],
})

export const rejectTransfer = operation({
  ...decided,
  id: 'transfers.reject',
  path: '/transfers/{order_id}/reject',
  summary: 'Refuse a pending transfer',
  policy: decisionPolicy,
  body: z.strictObject({ reason }),
})
