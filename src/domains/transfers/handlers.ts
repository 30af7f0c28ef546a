import {
  bizId,
  createHandlerTable,
  emptyPage,
  type HandlerTable,
  mapPage,
  type Request,
  type WalletId,
  type Words,
} from '../../kernel/index.ts'
import { listing, memberActing, operatorActing, tellKind } from '../../ledger/index.ts'
import * as contract from './contract.ts'
import { renderTransfer } from './render.ts'
import { termsOf } from './rules.ts'
import { approve, create, read, reject, type TransfersPorts } from './service.ts'

type Listing = Request<typeof contract.listTransfers> | Request<typeof contract.listWalletTransfers>

export const transferHandlers = (ports: TransfersPorts, words: Words): HandlerTable => {
  const listed = async ({ query, workspace, locale }: Listing, wallet: WalletId | undefined) => {
    const { sortBy, transferStatus } = query
    const orders = await ports.ledger.listOrders({
      ...listing(query),
      sortBy,
      type: 'TRANSFER',
      workspace: workspace.id,
      wallet,
      statuses: transferStatus && [transferStatus],
    })
    return mapPage(orders, (order) => renderTransfer(order, workspace.id, { words, locale }))
  }
  return createHandlerTable(contract, {
    createTransfer: async (request) => {
      const { body, workspace, locale } = request
      const { amount, currency, remark = null, clientReference = null } = body
      const source = bizId<'wallet'>(body.sourceWalletBizId)
      const target = bizId<'wallet'>(body.targetWalletBizId)
      const terms = termsOf({ source, target, amount, currency }, ports.rules)
      const order = await create(ports, terms, { remark, clientReference }, memberActing(request))
      return renderTransfer(order, workspace.id, { words, locale })
    },

    listTransfers: (request) => {
      const { walletId } = request.query
      return listed(request, walletId === undefined ? undefined : bizId<'wallet'>(walletId))
    },

    listWalletTransfers: async (request) => {
      const { params, workspace } = request
      const wallet = bizId<'wallet'>(params.wallet_id)
      const found = await ports.ledger.readWallet({ wallet, workspace: workspace.id })
      return found ? listed(request, wallet) : emptyPage()
    },

    readTransfer: async ({ params, workspace, locale }) => {
      const order = await read(ports, bizId(params.order_id), workspace.id)
      return renderTransfer(order, workspace.id, { words, locale })
    },

    isTransferCompleted: async ({ params, workspace }) => {
      const order = await read(ports, bizId(params.order_id), workspace.id)
      return order.status === 'COMPLETED'
    },

    listPendingTransfers: async ({ query, locale }) => {
      const { sortBy, workspaceId, workspaceKind } = query
      const concerning = workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId)
      const pending = { type: 'TRANSFER', workspace: null, statuses: ['PENDING_APPROVAL'] } as const
      const orders = await ports.ledger.listOrders({ ...listing(query), ...pending, concerning, workspaceKind, sortBy })
      const teller = { words, locale }
      return mapPage(orders, (order) => ({
        ...renderTransfer(order, null, teller),
        ...tellKind(order.workspaceKind, teller),
      }))
    },

    approveTransfer: async (request) => {
      const order = await approve(ports, bizId(request.params.order_id), operatorActing(request))
      return renderTransfer(order, null, { words, locale: request.locale })
    },

    rejectTransfer: async (request) => {
      const { params, body, locale } = request
      const order = await reject(ports, bizId(params.order_id), body.reason, operatorActing(request))
      return renderTransfer(order, null, { words, locale })
    },
  })
}
