import {
  bizId,
  createHandlerTable,
  formatMoney,
  type HandlerTable,
  type Locale,
  mapPage,
  type Words,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import {
  listing,
  memberActing,
  operatorActing,
  type ReadOrder,
  rechargeRunsOut,
  type Teller,
  tellKind,
} from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import { channelType } from '../withdrawal-channels/contract.ts'
import * as contract from './contract.ts'
import { openProof } from './proof.ts'
import { tellFigures, tellRecharge } from './recharge.ts'
import { type Channel, seenAt } from './rules.ts'
import { cancel, confirm, create, quote, type RechargesPorts, read, reject, submitProof } from './service.ts'

type Query = Parameters<typeof listing>[0] & {
  sortBy: 'createdAt' | 'updatedAt'
  walletId?: string | undefined
  rechargeStatus?: string | undefined
  workspaceKind?: WorkspaceKind | undefined
}

const askedIn = (body: { walletBizId: string; channelCode: string; amount: string }) => ({
  wallet: bizId<'wallet'>(body.walletBizId),
  channelCode: body.channelCode,
  amount: body.amount,
})

const tellRead = (order: ReadOrder, teller: Teller) => ({
  ...tellRecharge(order, teller),
  ...tellKind(order.workspaceKind, teller),
})

export const rechargeHandlers = (ports: RechargesPorts, words: Words): HandlerTable => {
  const tellChannel = ({ terms, tariff }: Channel, locale: Locale) => ({
    channelCode: terms.channelCode,
    channelName: terms.channelName,
    channelType: words.coded(channelType, terms.channelType, locale),
    currency: terms.currency,
    minAmount: formatMoney(tariff.minimum),
    maxAmount: formatMoney(tariff.maximum),
    fixedFee: formatMoney(tariff.fixedFee),
    feeRate: terms.feeRate,
    proofRequired: terms.proofRequired,
    enabled: terms.enabled,
  })
  /** A workspace of null reaches every one's. */
  const listed = async (query: Query, workspace: WorkspaceId | null, locale: Locale) => {
    const now = ports.clock.now()
    const orders = await ports.ledger.listOrders({
      ...listing(query),
      sortBy: query.sortBy,
      type: 'RECHARGE',
      workspace,
      workspaceKind: query.workspaceKind,
      wallet: query.walletId === undefined ? undefined : bizId<'wallet'>(query.walletId),
      statuses: query.rechargeStatus === undefined ? undefined : [query.rechargeStatus],
      runsOut: { ...rechargeRunsOut, at: now },
    })
    return mapPage(orders, (order) => tellRead(seenAt(order, now), { words, locale }))
  }
  return createHandlerTable(contract, {
    listRechargeChannels: async ({ query: { currency }, locale }) =>
      [...ports.channels.values()]
        .filter(({ terms }) => terms.enabled && (currency === undefined || terms.currency === currency))
        .map((channel) => tellChannel(channel, locale)),

    listRecharges: ({ query, workspace, locale }) => listed(query, workspace.id, locale),

    readRecharge: async ({ params, workspace, locale }) =>
      tellRecharge(await read(ports, bizId(params.recharge_id), workspace.id), { words, locale }),

    quoteRecharge: async ({ body, workspace, requestId }) => {
      const by = { workspace: workspace.id, requestId }
      const { wallet, channel, ...charge } = await quote(ports, askedIn(body), by)
      return tellFigures(wallet, channel.terms.channelCode, charge)
    },

    createRecharge: async (request) => {
      const order = await create(ports, askedIn(request.body), memberActing(request))
      return tellRecharge(order, { words, locale: request.locale })
    },

    cancelRecharge: async (request) => {
      const { params, body, locale } = request
      const order = await cancel(ports, bizId(params.recharge_id), body.cancelReason, memberActing(request))
      return tellRecharge(order, { words, locale })
    },

    submitRechargeProof: async (request) => {
      const { params, body, locale } = request
      const file = bizId<'file'>(body.fileBizId)
      const order = await submitProof(ports, bizId(params.recharge_id), file, memberActing(request))
      return tellRecharge(order, { words, locale })
    },

    listAllRecharges: ({ query, locale }) =>
      listed(query, query.workspaceId === undefined ? null : bizId<'workspace'>(query.workspaceId), locale),

    readAnyRecharge: async ({ params, locale }) =>
      tellRead(await read(ports, bizId(params.recharge_id), null), { words, locale }),

    downloadRechargeProof: (request) => openProof(ports, actOf(request), bizId(request.params.recharge_id), request),

    confirmRecharge: async (request) => {
      const order = await confirm(ports, bizId(request.params.recharge_id), operatorActing(request))
      return tellRecharge(order, { words, locale: request.locale })
    },

    rejectRecharge: async (request) => {
      const { params, body, locale } = request
      const order = await reject(ports, bizId(params.recharge_id), body.reason, operatorActing(request))
      return tellRecharge(order, { words, locale })
    },
  })
}
