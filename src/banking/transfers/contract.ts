import * as z from 'zod'
import {
  amount,
  bizId,
  clientReferenceFilter,
  coded,
  codeOf,
  currency,
  decimal,
  id,
  line,
  orderFields,
  orderNoFilter,
  orNone,
  statusHistory,
  text,
  timestamp,
  withMoney,
  workspaceFilters,
} from '../../contract/fields.ts'
import type { LedgerTypes } from '../../contract/ledger/ledger-types.ts'
import { listQuery } from '../../contract/lists.ts'

import type { Permissions } from '../../contract/permissions.ts'
import { codedFamily, operation } from '../../kernel/index.ts'
import { orderSort } from '../../ledger/contract.ts'
import { orderType } from '../../ledger/order-types/contract.ts'

export const summary = 'Transfers between wallets. Operators approve those above a threshold.'

export const permissions = {
  workspace: { transfer: { sortOrder: 700, actions: ['read', 'create'], payouts: ['create'] } },
  operator: { transfer: { sortOrder: 600, actions: ['read', 'approve'], powers: ['approve'] } },
} as const satisfies Permissions

export const transferStatus = codedFamily('transferStatus', {
  PENDING_APPROVAL: 10090201,
  PROCESSING: 10090202,
  COMPLETED: 10090203,
  FAILED: 10090204,
  CANCELLED: 10090205,
  EXPIRED: 10090206,
})

const TransferRequest = withMoney(
  z.strictObject({
    sourceWalletBizId: id,
    targetWalletBizId: id,
    amount,
    currency,
    remark: orNone(text(256, 0)),
    clientReference: orNone(line(64, 0)),
  }),
  (body) => body.currency,
).refine((body) => body.sourceWalletBizId !== body.targetWalletBizId, { path: ['targetWalletBizId'] })

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

const walletTransferFilters = { transferStatus: codeOf(transferStatus).optional(), ...clientReferenceFilter }

export const expiryJob = 'transfers.expire'

/** A transfer moves the funds immediately (`send`), or holds them until an operator approves it (`ask`). */
export const transfers = orderType('TRANSFER', {
  prefix: 'TRF',
  outgoing: true,
  group: 'transfer',
  statuses: transferStatus,
  reply: TransferOrder,
  filters: { walletId: id.optional(), ...walletTransferFilters },
  wallets: { source: 'sourceWalletBizId', target: 'targetWalletBizId' },
  columns: [
    { name: 'amount', currencyIn: 'currency' },
    { name: 'currency' },
    { name: 'feeAmount', currencyIn: 'currency' },
    { name: 'remark' },
    { name: 'clientReference', isPrivate: true },
    { name: 'failureCode' },
  ],
  moves: {
    send: { by: 'member', from: [], to: ['PROCESSING', 'COMPLETED'] },
    ask: { by: 'member', from: [], to: ['PENDING_APPROVAL'], holds: 'HELD' },
    cancel: { by: 'member', from: ['PENDING_APPROVAL'], to: ['CANCELLED'], holds: 'RELEASED' },
    expire: { by: 'clock', job: expiryJob, from: ['PENDING_APPROVAL'], to: ['EXPIRED'], holds: 'RELEASED' },
    approve: {
      by: 'operator',
      permission: 'transfer:approve',
      from: ['PENDING_APPROVAL'],
      to: ['PROCESSING', 'COMPLETED'],
      holds: 'CAPTURED',
    },
    reject: {
      by: 'operator',
      permission: 'transfer:approve',
      from: ['PENDING_APPROVAL'],
      to: ['FAILED'],
      holds: 'RELEASED',
      reason: null,
      sets: ['failureCode'],
      whileFrozen: true,
    },
    drop: { by: 'sandbox', from: ['PENDING_APPROVAL'], to: ['FAILED'], holds: 'RELEASED', reason: 'failureCode' },
  },
})

export const ledgerTypes = {
  orders: { TRANSFER: transfers },
  flowTypes: { TRANSFER: 10090301 },
} as const satisfies LedgerTypes

export const events = transfers.events

declare global {
  interface PorticoLedger {
    transfers: typeof ledgerTypes
  }
  interface PorticoEvents {
    transfers: typeof events
  }
}

const chains = ['consumer', 'api'] as const
const orders = transfers.operations
const approval = transfers.decision('approve')

export const createTransfer = operation({
  ...orders.create,
  id: 'transfers.create',
  path: '/transfer/command/create',
  chains,
  summary: 'Transfer funds between two wallets',
  policy: { ...orders.create.policy, workspace: 'optional', stepUp: 'maybe' },
  confirms: ['sourceWalletBizId', 'targetWalletBizId', 'amount', 'currency'],
  purpose: ({ sourceWalletBizId, targetWalletBizId, amount, currency }) => ({
    wallet: sourceWalletBizId,
    amount,
    currency,
    payee: { wallet: targetWalletBizId },
  }),
  body: TransferRequest,
  emits: transfers.emits('send', 'ask'),
  refuses: [
    'RESOURCE.NOT_FOUND',
    'WALLET.INSUFFICIENT_FUNDS',
    'WALLET.LIMIT_EXCEEDED',
    'WALLET.NOT_ACTIVE',
    'ACCESS.PAYOUT_HOLD',
  ],
})

export const cancelTransfer = operation({
  ...orders.change,
  id: 'transfers.cancel',
  path: '/transfer/command/{order_id}/cancel',
  summary: 'Cancel an unapproved transfer and release its funds',
  body: 'none',
  emits: transfers.emits('cancel'),
})

export const listTransfers = operation({
  ...orders.list,
  id: 'transfers.list',
  path: '/transfer/query/orders',
  chains,
  summary: 'List the transfers of a workspace',
  policy: { ...orders.list.policy, workspace: 'optional' },
  query: listQuery(orderSort, transfers.filters),
})

export const listWalletTransfers = operation({
  ...orders.list,
  id: 'transfers.listOfWallet',
  path: '/transfer/query/orders/wallet/{wallet_id}',
  machineParams: { wallet_id: 'walletBizId' },
  chains,
  summary: 'List the transfers of a wallet',
  query: listQuery(orderSort, { ...orderNoFilter, ...walletTransferFilters }),
})

export const readTransfer = operation({
  ...orders.read,
  id: 'transfers.read',
  path: '/transfer/query/orders/{order_id}',
  machineParams: { order_id: 'bizId' },
  chains,
  summary: 'Read a transfer',
})

export const isTransferCompleted = operation({
  ...orders.read,
  id: 'transfers.completed',
  path: '/transfer/query/orders/{order_id}/completed',
  machineParams: { order_id: 'bizId' },
  chains,
  summary: 'Check whether a transfer is completed',
  reply: z.boolean(),
  malformedParam: 'VALIDATION.INVALID_PARAMETER',
})

export const listAllTransfers = operation({
  ...orders.listAll,
  id: 'transfers.listAll',
  path: '/transfers',
  summary: 'List the transfers of all workspaces',
})

export const listPendingTransfers = operation({
  ...orders.listAll,
  id: 'transfers.listPending',
  path: '/transfers/pending',
  summary: 'List transfers pending approval',
  query: listQuery(orderSort, { ...orderNoFilter, ...clientReferenceFilter, ...workspaceFilters }),
})

export const readAnyTransfer = operation({
  ...orders.readAny,
  id: 'transfers.readAny',
  path: '/transfers/{order_id}',
  summary: 'Read a transfer of any workspace',
})

export const approveTransfer = operation({
  ...approval,
  id: 'transfers.approve',
  path: '/transfers/{order_id}/approve',
  summary: 'Approve a pending transfer',
  refuses: [...approval.refuses, 'WALLET.NOT_ACTIVE'],
})

export const rejectTransfer = operation({
  ...transfers.reasonedDecision('reject'),
  id: 'transfers.reject',
  path: '/transfers/{order_id}/reject',
  summary: 'Reject a pending transfer',
})
