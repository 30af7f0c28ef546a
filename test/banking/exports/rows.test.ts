import { expect, test } from 'vitest'
import { exchanges } from '../../../src/banking/exchanges/contract.ts'
import { toExchangeView } from '../../../src/banking/exchanges/view.ts'
import { createOrderSource, type ExportedType } from '../../../src/banking/exports/order-source.ts'
import { recharges } from '../../../src/banking/recharges/contract.ts'
import { toRechargeView } from '../../../src/banking/recharges/view.ts'
import { transfers } from '../../../src/banking/transfers/contract.ts'
import { toTransferView } from '../../../src/banking/transfers/view.ts'
import { withdrawals } from '../../../src/banking/withdrawals/contract.ts'
import { toWithdrawalView } from '../../../src/banking/withdrawals/view.ts'
import { isRecord } from '../../../src/kernel/json.ts'
import type { Ledger } from '../../../src/ledger/index.ts'
import { type Order, storedOrder } from '../../../src/ledger/order.ts'
import { words } from '../world.ts'

const viewer = { workspace: null, words, locale: 'en' } as const
const completedAt = '2026-03-01T09:00:05.000Z'

/** Every field has a distinct value. */
function createOrder(orderType: Order['orderType'], [first, status]: [string, string], data: Order['data']): Order {
  const firstStep = { status: first, at: '2026-03-01T09:00:00.000Z', actorBizId: null, reason: null }
  const [createdAt, updatedAt] = [firstStep.at, completedAt]
  const ids = { bizId: 'order', workspaceBizId: 'own', sourceWalletBizId: 'from', targetWalletBizId: 'to' }
  const rest = { orderNo: 'NO-1', version: 2, createdBy: null, counterpartyWorkspaceBizId: null, createdAt, updatedAt }
  return storedOrder.parse({
    ...ids,
    ...rest,
    orderType,
    status,
    data,
    history: [firstStep, { ...firstStep, status, at: completedAt }],
  })
}

const money = { amount: '1050', currency: 'USD', feeAmount: '25' }
const exchangeData = { sourceAmount: '10000', sourceCurrency: 'JPY', targetAmount: '6712', targetCurrency: 'USD' }
const orders = {
  TRANSFERS: createOrder('TRANSFER', ['PROCESSING', 'FAILED'], {
    ...money,
    remark: 'r',
    clientReference: 'c',
    failureCode: 'REASON',
  }),
  EXCHANGES: createOrder('EXCHANGE', ['PROCESSING', 'COMPLETED'], {
    ...exchangeData,
    ...{ rate: '0.0067123', feeAmount: '11', fixedSide: 'SOURCE', quoteBizId: 'quote', failureCode: null },
  }),
  RECHARGES: createOrder('RECHARGE', ['PENDING_PAYMENT', 'REJECTED'], {
    ...money,
    ...{ channelCode: 'CARD_USD', proofRequired: 'no', expiresAt: completedAt, proofFileBizId: 'file' },
    ...{ proofSha256: 'ab', externalReference: 'SEPA-1' },
    ...{ cancelReason: 'never mind', rejectReason: 'nothing came' },
    ...{ receivedAmount: '950', receivedFeeAmount: '20', receivedNetAmount: '930' },
  }),
  WITHDRAWALS: createOrder('WITHDRAWAL', ['PROCESSING', 'COMPLETED'], {
    ...money,
    ...{ withdrawalChannelBizId: 'channel', remark: 'rent', failureReason: 'no such bank', externalReference: 'REF' },
  }),
}

const views: Record<keyof typeof orders, Record<string, unknown>> = {
  TRANSFERS: toTransferView(orders.TRANSFERS, { ...viewer, workspace: orders.TRANSFERS.workspaceBizId }),
  EXCHANGES: toExchangeView(orders.EXCHANGES, viewer),
  RECHARGES: toRechargeView(orders.RECHARGES, viewer),
  WITHDRAWALS: toWithdrawalView(orders.WITHDRAWALS, viewer),
}

const types: Record<keyof typeof orders, ExportedType> = {
  TRANSFERS: transfers,
  EXCHANGES: exchanges,
  RECHARGES: recharges,
  WITHDRAWALS: withdrawals,
}

async function rowsOf(type: keyof typeof orders) {
  const order = orders[type]
  const maker = { workspaceKind: 'LIVE', workspaceStatus: 'ACTIVE', creatorStatus: 'ACTIVE' } as const
  const ledger: Pick<Ledger, 'readOrders'> = { readOrders: async () => [{ ...order, ...maker }] }
  const noFilters = { walletId: undefined, status: undefined, data: {}, from: undefined, to: undefined, asOf: null }
  const request = { workspace: order.workspaceBizId, ...noFilters, now: order.updatedAt }
  const { columns, rows } = createOrderSource(ledger, types[type], request, 10)
  return { columns, rows: await Array.fromAsync(rows) }
}

/** Returns the code of a coded value. */
function toCell(value: unknown): unknown {
  return isRecord(value) ? value.code : value
}

test.each(Object.keys(orders) as (keyof typeof orders)[])(
  'exports.create 200: a row of %s has the values of the list operation',
  async (type) => {
    const { columns, rows } = await rowsOf(type)
    expect(columns.filter((column) => !(column in views[type]))).toEqual([])
    expect(rows).toEqual([Object.fromEntries(columns.map((column) => [column, toCell(views[type][column])]))])
  },
)
