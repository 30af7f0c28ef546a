import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  invalid,
  mapPage,
  notFound,
  type Request,
  type Words,
} from '../../kernel/index.ts'
import { createOrders, type Order, viewerOf } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { confirmedPostings, receivedData, receivedUsage, referenceData, toRecharge } from './order.ts'
import { computeReceipt } from './rules.ts'
import {
  allowReference,
  downloadRechargeProof,
  openRecharge,
  quoteRecharge,
  type RechargesPorts,
  withProof,
  withReference,
} from './service.ts'
import { listAllowances, listProofUses } from './store.ts'
import { toAllowancesView, toChannelView, toFiguresView, toRechargeView, toUsesView } from './view.ts'

export function createHandlers(ports: RechargesPorts & { words: Words }): HandlerTable {
  const { ledger, database, channels, referenceRequired, words } = ports
  const orders = createOrders(contract.recharges, { ledger, words }, toRechargeView)
  const confirm = orders.move('confirm', async (request: Confirmation, { key }, read) => {
    const order = await read()
    const { change, receipt, recharge } = toConfirmation(request, order)
    return {
      ...change,
      ...(!receipt.isAsAnnounced && { usage: receivedUsage(channels, order, receipt.charge) }),
      ...(recharge.proofRequired && { from: ['PROOF_SUBMITTED'] }),
      within: withReference(ports, receipt.isAsAnnounced ? null : key),
    }
  })
  /** The bank statement proves the payment, so it needs no other proof. */
  const confirmExpired = orders.move('confirmExpired', async (request: Confirmation, { key }, read) => {
    if (!request.body?.externalReference) throw invalid('externalReference', 'required after the expiry', 'missing')
    const order = await read()
    const { change, receipt } = toConfirmation(request, order)
    return { ...change, usage: receivedUsage(channels, order, receipt.charge), within: withReference(ports, key) }
  })
  const toConfirmation = ({ body }: Confirmation, order: Order) => {
    const externalReference = body?.externalReference ?? null
    if (referenceRequired && externalReference === null) throw invalid('externalReference', 'required', 'missing')
    const recharge = toRecharge(order)
    const receipt = computeReceipt(recharge, channels.get(recharge.details.channelCode), body?.receivedAmount)
    const change = {
      ...confirmedPostings(order, receipt.charge),
      data: {
        ...(externalReference === null ? { externalReference } : referenceData(externalReference)),
        ...receivedData(receipt),
      },
    }
    return { change, receipt, recharge }
  }
  /** Reads what operators see besides the orders. */
  const describe = async (found: readonly Order[]) => {
    const uses = await listProofUses(database, found)
    const allowances = await listAllowances(database, found)
    return (...[order, request]: Parameters<typeof orders.showToOperator>) => ({
      ...orders.showToOperator(order, request),
      ...toUsesView(uses.get(order.bizId)),
      ...toAllowancesView(allowances.get(order.bizId)),
    })
  }
  return createHandlerTable(contract, {
    listRecharges: orders.list,
    readRecharge: orders.read,

    listRechargeChannels: async (request) => {
      const { currency } = request.query
      return [...channels.values()]
        .filter(({ settings }) => settings.enabled && (currency === undefined || settings.currency === currency))
        .map((channel) => toChannelView(channel, viewerOf(words, request)))
    },

    quoteRecharge: async ({ body, caller, workspace, requestId }) => {
      const context = { workspace: workspace.id, actor: caller.accountId, requestId }
      const { wallet, channel, ...charge } = await quoteRecharge(ports, toInput(body), context)
      return toFiguresView(wallet, channel.settings.channelCode, charge)
    },

    createRecharge: orders.create(({ body }, context) =>
      openRecharge(ports, toInput(body), context, (opening) => orders.open('create', context, opening)),
    ),

    cancelRecharge: orders.move('cancel', ({ body }) => ({ reason: body.cancelReason })),
    rejectRecharge: orders.move('reject', ({ body }) => body),

    submitRechargeProof: orders.move('proof', async ({ body, workspace }) => {
      const file = bizId<'file'>(body.fileBizId)
      const proof = await ports.fileOf(workspace.id, file)
      if (!proof) throw notFound('unknown file')
      if (!ports.isProof(proof)) throw invalid('fileBizId', 'not a valid type or size for a proof')
      return {
        data: { proofFileBizId: file, proofSha256: proof.sha256 },
        within: withProof(ports, workspace.id, file),
      }
    }),

    confirmRecharge: async (request) => {
      const { status } = await orders.find(bizId<'order'>(request.params.recharge_id), null)
      return status === 'EXPIRED' ? confirmExpired(request) : confirm(request)
    },

    allowRechargeReference: async (request) => {
      const order = await orders.find(bizId<'order'>(request.params.recharge_id), null)
      return ports.once(request, async (tx) => {
        await allowReference(ports, tx, order, request.body, auditContextOf(request))
        return orders.show(order, request)
      })
    },

    listAllRecharges: async (request) => {
      const found = await orders.page(request.query, null)
      const describeOne = await describe(found.items)
      return mapPage(found, (order) => describeOne(order, request))
    },

    readAnyRecharge: async (request) => {
      const order = await orders.find(bizId<'order'>(request.params.recharge_id), null)
      return (await describe([order]))(order, request)
    },

    downloadRechargeProof: async (request) => {
      const order = await orders.find(bizId<'order'>(request.params.recharge_id), null)
      return downloadRechargeProof(ports, order, request, auditContextOf(request))
    },
  })
}

type Confirmation = Request<typeof contract.confirmRecharge>

function toInput(body: { walletBizId: string; channelCode: string; amount: string }) {
  return {
    wallet: bizId<'wallet'>(body.walletBizId),
    channelCode: body.channelCode,
    amount: body.amount,
  }
}
