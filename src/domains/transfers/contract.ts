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
  orderFields,
  statusHistory,
  text,
  timestamp,
} from '../../contract/fields.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member, money } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'
import { operatorOrderList, orderDecision, orderList, orderRead, reasonedOrderDecision } from '../../ledger/contract.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Transfers between wallets. Operators approve those above a limit.'

export const permissions = {
  workspace: { transfer: { sortOrder: 700, actions: ['read', 'create'] } },
  operator: { transfer: { sortOrder: 600, actions: ['read', 'approve'] } },
} as const satisfies Permissions

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

const walletTransferFilters = { transferStatus: codeOf(transferStatus).optional() }
export const transferFilters = { walletId: id.optional(), ...walletTransferFilters }

const chains = ['consumer', 'api'] as const
const readPolicy = { ...member, permission: 'transfer:read' } as const

export const createTransfer = operation({
  id: 'transfers.create',
  method: 'POST',
  path: '/transfer/command/create',
  chains,
  summary: 'Transfer funds between two wallets',
  policy: { ...money, workspace: 'optional', permission: 'transfer:create' },
  body: TransferRequest,
  reply: TransferOrder,
  refuses: ['RESOURCE.NOT_FOUND', 'WALLET.INSUFFICIENT_FUNDS', 'WALLET.NOT_ACTIVE'],
})

export const listTransfers = operation({
  ...orderList(TransferOrder, transferFilters),
  id: 'transfers.list',
  path: '/transfer/query/orders',
  chains,
  summary: 'List the transfers of a workspace',
  policy: { ...readPolicy, workspace: 'optional' },
})

export const listWalletTransfers = operation({
  ...orderList(TransferOrder, walletTransferFilters),
  id: 'transfers.listOfWallet',
  path: '/transfer/query/orders/wallet/{wallet_id}',
  chains,
  summary: 'List the transfers of a wallet',
  policy: { ...readPolicy, workspace: 'required' },
})

export const readTransfer = operation({
  ...orderRead(TransferOrder),
  id: 'transfers.read',
  path: '/transfer/query/orders/{order_id}',
  chains,
  summary: 'Read a transfer',
  policy: { ...readPolicy, workspace: 'required' },
})

export const isTransferCompleted = operation({
  ...orderRead(TransferOrder),
  id: 'transfers.completed',
  path: '/transfer/query/orders/{order_id}/completed',
  chains,
  summary: 'Check whether a transfer is completed',
  policy: { ...readPolicy, workspace: 'required' },
  reply: z.boolean(),
  malformedParam: 'VALIDATION.INVALID_PARAMETER',
})

export const listPendingTransfers = operation({
  ...operatorOrderList(TransferOrder, {}, 'transfer:read'),
  id: 'transfers.listPending',
  path: '/transfers/pending',
  summary: 'List the transfers that wait for approval',
})

const approval = orderDecision(TransferOrder, 'transfer:approve')

export const approveTransfer = operation({
  ...approval,
  id: 'transfers.approve',
  path: '/transfers/{order_id}/approve',
  summary: 'Approve a pending transfer of another person',
  refuses: [...approval.refuses, 'WALLET.NOT_ACTIVE'],
})

export const rejectTransfer = operation({
  ...reasonedOrderDecision(TransferOrder, 'transfer:approve'),
  id: 'transfers.reject',
  path: '/transfers/{order_id}/reject',
  summary: 'Reject a pending transfer',
})
