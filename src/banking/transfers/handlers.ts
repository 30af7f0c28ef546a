import { moneyOf } from '../../contract/fields.ts'
import {
  bizId,
  createHandlerTable,
  emptyPage,
  formatMoney,
  type HandlerTable,
  mapPage,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import {
  isOwnOrder,
  type ListedOrder,
  memberContext,
  type Order,
  operatorContext,
  reachedAt,
  toCodedValue,
  toOperatorOrderView,
  toOrderQuery,
  toOrderView,
  type Viewer,
  viewerOf,
} from '../../ledger/index.ts'
import * as contract from './contract.ts'
import { toTransfer } from './order.ts'
import { approveTransfer, createTransfer, readTransfer, rejectTransfer, type TransfersPorts } from './service.ts'

/** The recipient does not see the sender's client reference. */
export const toTransferView = (order: Order, viewer: Viewer) => {
  const transfer = toTransfer(order)
  return {
    ...toOrderView(order, contract.transferStatus, viewer),
    sourceWalletBizId: transfer.source,
    targetWalletBizId: transfer.target,
    amount: formatMoney(transfer.amount),
    currency: transfer.amount.currency,
    feeAmount: formatMoney(transfer.fee),
    remark: transfer.remark,
    clientReference: isOwnOrder(order, viewer) ? transfer.clientReference : null,
    transferStatus: toCodedValue(contract.transferStatus, order.status, viewer),
    failureCode: transfer.failureCode,
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

const toListedTransferView = (order: ListedOrder, viewer: Viewer) => ({
  ...toTransferView(order, viewer),
  ...toOperatorOrderView(order, viewer),
})

export const transferHandlers = (ports: TransfersPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    createTransfer: async (request) => {
      const { sourceWalletBizId, targetWalletBizId, amount, currency, ...notes } = request.body
      const input = {
        source: bizId<'wallet'>(sourceWalletBizId),
        target: bizId<'wallet'>(targetWalletBizId),
        amount: moneyOf(amount, currency),
        remark: notes.remark ?? null,
        clientReference: notes.clientReference ?? null,
      }
      return toTransferView(await createTransfer(ports, input, memberContext(request)), viewerOf(words, request))
    },

    listTransfers: async (request) => {
      const { query, workspace } = request
      const scope = { type: 'TRANSFER', workspace: workspace.id, status: query.transferStatus } as const
      const orders = await ports.ledger.listOrders(toOrderQuery(query, scope))
      return mapPage(orders, (order) => toTransferView(order, viewerOf(words, request)))
    },

    listWalletTransfers: async (request) => {
      const { params, query, workspace } = request
      const wallet = bizId<'wallet'>(params.wallet_id)
      if (!(await ports.ledger.readWallet({ wallet, workspace: workspace.id }))) return emptyPage()
      const scope = { type: 'TRANSFER', workspace: workspace.id, status: query.transferStatus } as const
      const orders = await ports.ledger.listOrders(toOrderQuery({ ...query, walletId: wallet }, scope))
      return mapPage(orders, (order) => toTransferView(order, viewerOf(words, request)))
    },

    readTransfer: async (request) => {
      const { params, workspace } = request
      const order = await readTransfer(ports, { id: bizId(params.order_id), workspace: workspace.id })
      return toTransferView(order, viewerOf(words, request))
    },

    isTransferCompleted: async ({ params, workspace }) => {
      const order = await readTransfer(ports, { id: bizId(params.order_id), workspace: workspace.id })
      return order.status === 'COMPLETED'
    },

    listPendingTransfers: async (request) => {
      const { workspaceId, ...query } = request.query
      const scope = { type: 'TRANSFER', workspace: null, status: 'PENDING_APPROVAL' } as const
      const participant = workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId)
      const orders = await ports.ledger.listOrders({ ...toOrderQuery(query, scope), participant })
      return mapPage(orders, (order) => toListedTransferView(order, viewerOf(words, request)))
    },

    approveTransfer: async (request) => {
      const input = { id: bizId<'order'>(request.params.order_id) }
      return toTransferView(await approveTransfer(ports, input, operatorContext(request)), viewerOf(words, request))
    },

    rejectTransfer: async (request) => {
      const input = { id: bizId<'order'>(request.params.order_id), reason: request.body.reason }
      return toTransferView(await rejectTransfer(ports, input, operatorContext(request)), viewerOf(words, request))
    },
  })
