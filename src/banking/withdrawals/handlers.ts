import {
  bizId,
  createHandlerTable,
  formatMoney,
  type HandlerTable,
  mapPage,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import {
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
import { toWithdrawal } from './order.ts'
import {
  approveWithdrawal,
  cancelWithdrawal,
  completeWithdrawal,
  createWithdrawal,
  failWithdrawal,
  readWithdrawal,
  rejectWithdrawal,
  type WithdrawalsPorts,
} from './service.ts'

export const toWithdrawalView = (order: Order, viewer: Viewer) => {
  const { wallet, amount, fee, net, ...notes } = toWithdrawal(order)
  return {
    ...toOrderView(order, contract.withdrawalStatus, viewer),
    ...notes,
    walletBizId: wallet,
    amount: formatMoney(amount),
    currency: amount.currency,
    feeAmount: formatMoney(fee),
    netAmount: formatMoney(net),
    withdrawalStatus: toCodedValue(contract.withdrawalStatus, order.status, viewer),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

const toListedWithdrawalView = (order: ListedOrder, viewer: Viewer) => ({
  ...toWithdrawalView(order, viewer),
  ...toOperatorOrderView(order, viewer),
})

export const withdrawalHandlers = (ports: WithdrawalsPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    listWithdrawals: async (request) => {
      const { query, workspace } = request
      const scope = { type: 'WITHDRAWAL', workspace: workspace.id, status: query.withdrawalStatus } as const
      const orders = await ports.ledger.listOrders(toOrderQuery(query, scope))
      return mapPage(orders, (order) => toWithdrawalView(order, viewerOf(words, request)))
    },

    readWithdrawal: async (request) => {
      const scope = { id: bizId<'order'>(request.params.withdrawal_id), workspace: request.workspace.id }
      return toWithdrawalView(await readWithdrawal(ports, scope), viewerOf(words, request))
    },

    createWithdrawal: async (request) => {
      const { walletBizId, withdrawalChannelBizId, amount, remark = null } = request.body
      const channel = bizId<'withdrawalChannel'>(withdrawalChannelBizId)
      const input = { wallet: bizId<'wallet'>(walletBizId), channel, amount, remark }
      return toWithdrawalView(await createWithdrawal(ports, input, memberContext(request)), viewerOf(words, request))
    },

    cancelWithdrawal: async (request) => {
      const input = { id: bizId<'order'>(request.params.withdrawal_id) }
      return toWithdrawalView(await cancelWithdrawal(ports, input, memberContext(request)), viewerOf(words, request))
    },

    listAllWithdrawals: async (request) => {
      const { query } = request
      const scope = { type: 'WITHDRAWAL', workspace: null, status: query.withdrawalStatus } as const
      const orders = await ports.ledger.listOrders(toOrderQuery(query, scope))
      return mapPage(orders, (order) => toListedWithdrawalView(order, viewerOf(words, request)))
    },

    readAnyWithdrawal: async (request) => {
      const scope = { id: bizId<'order'>(request.params.withdrawal_id), workspace: null }
      return toListedWithdrawalView(await readWithdrawal(ports, scope), viewerOf(words, request))
    },

    approveWithdrawal: async (request) => {
      const input = { id: bizId<'order'>(request.params.withdrawal_id) }
      return toWithdrawalView(await approveWithdrawal(ports, input, operatorContext(request)), viewerOf(words, request))
    },

    rejectWithdrawal: async (request) => {
      const input = { id: bizId<'order'>(request.params.withdrawal_id), reason: request.body.reason }
      return toWithdrawalView(await rejectWithdrawal(ports, input, operatorContext(request)), viewerOf(words, request))
    },

    completeWithdrawal: async (request) => {
      const { params, body } = request
      const input = { id: bizId<'order'>(params.withdrawal_id), externalReference: body?.externalReference ?? null }
      const order = await completeWithdrawal(ports, input, operatorContext(request))
      return toWithdrawalView(order, viewerOf(words, request))
    },

    failWithdrawal: async (request) => {
      const input = { id: bizId<'order'>(request.params.withdrawal_id), reason: request.body.reason }
      return toWithdrawalView(await failWithdrawal(ports, input, operatorContext(request)), viewerOf(words, request))
    },
  })
