import { channelType } from '../../contract/shared-schemas.ts'
import {
  bizId,
  createHandlerTable,
  formatMoney,
  type HandlerTable,
  mapPage,
  type Page,
  toIso,
  toIsoOrNull,
  type WalletId,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type Charge,
  type ListedOrder,
  memberContext,
  type Order,
  type OrderListRequest,
  operatorContext,
  reachedAt,
  rechargeExpiry,
  toCodedValue,
  toOperatorOrderView,
  toOrderQuery,
  toOrderView,
  type Viewer,
  viewerOf,
} from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { withExpiry } from './expiry.ts'
import { toRecharge } from './order.ts'
import type { Channel } from './rules.ts'
import {
  cancelRecharge,
  confirmRecharge,
  createRecharge,
  downloadRechargeProof,
  quoteRecharge,
  type RechargesPorts,
  readRecharge,
  rejectRecharge,
  submitRechargeProof,
} from './service.ts'
import { listProofUses, type ProofUse } from './store.ts'

const toFiguresView = (wallet: WalletId, channelCode: string, { amount, fee, net }: Charge) => ({
  walletBizId: wallet,
  channelCode,
  amount: formatMoney(amount),
  currency: amount.currency,
  feeAmount: formatMoney(fee),
  netAmount: formatMoney(net),
})

export const toRechargeView = (order: Order, viewer: Viewer) => {
  const { wallet, details, ...charge } = toRecharge(order)
  return {
    ...toOrderView(order, contract.rechargeStatus, viewer),
    ...details,
    ...toFiguresView(wallet, details.channelCode, charge),
    rechargeStatus: toCodedValue(contract.rechargeStatus, order.status, viewer),
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

const toListedRechargeView = (order: ListedOrder, uses: ProofUse[] | undefined, viewer: Viewer) => ({
  ...toRechargeView(order, viewer),
  ...toOperatorOrderView(order, viewer),
  proofUsedBefore: uses?.map((use) => ({
    rechargeBizId: use.order,
    workspaceBizId: use.workspace,
    createdAt: toIso(use.at),
  })),
})

const toChannelView = ({ settings, tariff }: Channel, viewer: Viewer) => ({
  channelCode: settings.channelCode,
  channelName: settings.channelName,
  channelType: toCodedValue(channelType, settings.channelType, viewer),
  currency: settings.currency,
  minAmount: formatMoney(tariff.minimum),
  maxAmount: formatMoney(tariff.maximum),
  fixedFee: formatMoney(tariff.fixedFee),
  feeRate: settings.feeRate,
  proofRequired: settings.proofRequired,
  enabled: settings.enabled,
})

/** A null workspace selects all workspaces. */
const listRecharges = async (
  { ledger, clock }: RechargesPorts,
  query: OrderListRequest & { rechargeStatus?: string | undefined },
  workspace: WorkspaceId | null,
): Promise<Page<ListedOrder>> => {
  const now = clock.now()
  const orderQuery = toOrderQuery(query, { type: 'RECHARGE', workspace, status: query.rechargeStatus })
  const orders = await ledger.listOrders({ ...orderQuery, expiry: { ...rechargeExpiry, at: now } })
  return mapPage(orders, (order) => withExpiry(order, now))
}

const toInput = (body: { walletBizId: string; channelCode: string; amount: string }) => ({
  wallet: bizId<'wallet'>(body.walletBizId),
  channelCode: body.channelCode,
  amount: body.amount,
})

export const rechargeHandlers = (ports: RechargesPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    listRechargeChannels: async (request) => {
      const { currency } = request.query
      return [...ports.channels.values()]
        .filter(({ settings }) => settings.enabled && (currency === undefined || settings.currency === currency))
        .map((channel) => toChannelView(channel, viewerOf(words, request)))
    },

    listRecharges: async (request) => {
      const orders = await listRecharges(ports, request.query, request.workspace.id)
      return mapPage(orders, (order) => toRechargeView(order, viewerOf(words, request)))
    },

    readRecharge: async (request) => {
      const scope = { id: bizId<'order'>(request.params.recharge_id), workspace: request.workspace.id }
      return toRechargeView(await readRecharge(ports, scope), viewerOf(words, request))
    },

    quoteRecharge: async ({ body, caller, workspace, requestId }) => {
      const context = { workspace: workspace.id, actor: caller.accountId, requestId }
      const { wallet, channel, ...charge } = await quoteRecharge(ports, toInput(body), context)
      return toFiguresView(wallet, channel.settings.channelCode, charge)
    },

    createRecharge: async (request) => {
      const order = await createRecharge(ports, toInput(request.body), memberContext(request))
      return toRechargeView(order, viewerOf(words, request))
    },

    cancelRecharge: async (request) => {
      const input = { id: bizId<'order'>(request.params.recharge_id), reason: request.body.cancelReason }
      return toRechargeView(await cancelRecharge(ports, input, memberContext(request)), viewerOf(words, request))
    },

    submitRechargeProof: async (request) => {
      const { params, body } = request
      const input = { id: bizId<'order'>(params.recharge_id), file: bizId<'file'>(body.fileBizId) }
      return toRechargeView(await submitRechargeProof(ports, input, memberContext(request)), viewerOf(words, request))
    },

    listAllRecharges: async (request) => {
      const orders = await listRecharges(ports, request.query, null)
      const uses = await listProofUses(ports.database, orders.items)
      return mapPage(orders, (order) => toListedRechargeView(order, uses.get(order.bizId), viewerOf(words, request)))
    },

    readAnyRecharge: async (request) => {
      const scope = { id: bizId<'order'>(request.params.recharge_id), workspace: null }
      const order = await readRecharge(ports, scope)
      const uses = await listProofUses(ports.database, [order])
      return toListedRechargeView(order, uses.get(order.bizId), viewerOf(words, request))
    },

    downloadRechargeProof: (request) =>
      downloadRechargeProof(ports, { id: bizId(request.params.recharge_id), request }, auditContextOf(request)),

    confirmRecharge: async (request) => {
      const { params, body } = request
      const input = { id: bizId<'order'>(params.recharge_id), externalReference: body?.externalReference ?? null }
      return toRechargeView(await confirmRecharge(ports, input, operatorContext(request)), viewerOf(words, request))
    },

    rejectRecharge: async (request) => {
      const input = { id: bizId<'order'>(request.params.recharge_id), reason: request.body.reason }
      return toRechargeView(await rejectRecharge(ports, input, operatorContext(request)), viewerOf(words, request))
    },
  })
