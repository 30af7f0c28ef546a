import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  type Words,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'

import { listing, memberActing, operatorActing, type ReadOrder, type Teller, tellKind } from '../../ledger/index.ts'
import * as contract from './contract.ts'
import { approve, cancel, complete, create, fail, read, reject, type WithdrawalsPorts } from './service.ts'
import { tellWithdrawal } from './withdrawal.ts'

type Query = Parameters<typeof listing>[0] & {
  sortBy: 'createdAt' | 'updatedAt'
  walletId?: string | undefined
  withdrawalStatus?: string | undefined
  workspaceKind?: WorkspaceKind | undefined
}

/** What the ledger is asked for; a workspace of null reaches every one's. */
const wanted = (query: Query, workspace: WorkspaceId | null) => ({
  ...listing(query),
  sortBy: query.sortBy,
  type: 'WITHDRAWAL' as const,
  workspace,
  workspaceKind: query.workspaceKind,
  wallet: query.walletId === undefined ? undefined : bizId<'wallet'>(query.walletId),
  statuses: query.withdrawalStatus === undefined ? undefined : [query.withdrawalStatus],
})

const tellRead = (order: ReadOrder, teller: Teller) => ({
  ...tellWithdrawal(order, teller),
  ...tellKind(order.workspaceKind, teller),
})

export const withdrawalHandlers = (ports: WithdrawalsPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    listWithdrawals: async ({ query, workspace, locale }) => {
      const orders = await ports.ledger.listOrders(wanted(query, workspace.id))
      return mapPage(orders, (order) => tellWithdrawal(order, { words, locale }))
    },

    readWithdrawal: async ({ params, workspace, locale }) => {
      const order = await read(ports, bizId(params.withdrawal_id), workspace.id)
      return tellWithdrawal(order, { words, locale })
    },

    createWithdrawal: async (request) => {
      const { walletBizId, withdrawalChannelBizId, amount, remark = null } = request.body
      const channel = bizId<'withdrawalChannel'>(withdrawalChannelBizId)
      const asked = { wallet: bizId<'wallet'>(walletBizId), channel, amount, remark }
      const order = await create(ports, asked, memberActing(request))
      return tellWithdrawal(order, { words, locale: request.locale })
    },

    cancelWithdrawal: async (request) => {
      const order = await cancel(ports, bizId(request.params.withdrawal_id), memberActing(request))
      return tellWithdrawal(order, { words, locale: request.locale })
    },

    listAllWithdrawals: async ({ query, locale }) => {
      const workspace = query.workspaceId === undefined ? null : bizId<'workspace'>(query.workspaceId)
      const orders = await ports.ledger.listOrders(wanted(query, workspace))
      return mapPage(orders, (order) => tellRead(order, { words, locale }))
    },

    readAnyWithdrawal: async ({ params, locale }) => {
      const order = await read(ports, bizId(params.withdrawal_id), null)
      return tellRead(order, { words, locale })
    },

    approveWithdrawal: async (request) => {
      const order = await approve(ports, bizId(request.params.withdrawal_id), operatorActing(request))
      return tellWithdrawal(order, { words, locale: request.locale })
    },

    rejectWithdrawal: async (request) => {
      const { params, body, locale } = request
      const order = await reject(ports, bizId(params.withdrawal_id), body.reason, operatorActing(request))
      return tellWithdrawal(order, { words, locale })
    },

    completeWithdrawal: async (request) => {
      const { params, body, locale } = request
      const reference = body?.externalReference ?? null
      const order = await complete(ports, bizId(params.withdrawal_id), reference, operatorActing(request))
      return tellWithdrawal(order, { words, locale })
    },

    failWithdrawal: async (request) => {
      const { params, body, locale } = request
      const order = await fail(ports, bizId(params.withdrawal_id), body.reason, operatorActing(request))
      return tellWithdrawal(order, { words, locale })
    },
  })
