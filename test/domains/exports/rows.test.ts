import { expect, test } from 'vitest'
import { toExchangeView } from '../../../src/domains/exchanges/handlers.ts'
import { createOrderSource, orderKinds } from '../../../src/domains/exports/order-source.ts'
import { toRechargeView } from '../../../src/domains/recharges/handlers.ts'
import { toTransferView } from '../../../src/domains/transfers/handlers.ts'
import { toWithdrawalView } from '../../../src/domains/withdrawals/handlers.ts'
import { isRecord } from '../../../src/kernel/json.ts'
import type { Ledger } from '../../../src/ledger/index.ts'
import { type Order, storedOrder } from '../../../src/ledger/order.ts'
import { words } from '../world.ts'

const viewer = { workspace: null, words, locale: 'en' } as const
const ended = '2026-03-01T09:00:05.000Z'

/** An order with something of its own in every field, so that no two can be mistaken for one another. */
const ordered = (orderType: Order['orderType'], [first, status]: [string, string], data: Order['data']): Order => {
  const begun = { status: first, at: '2026-03-01T09:00:00.000Z', actorBizId: null, reason: null }
  const [createdAt, updatedAt] = [begun.at, ended]
  const ids = { bizId: 'order', workspaceBizId: 'own', sourceWalletBizId: 'from', targetWalletBizId: 'to' }
  const rest = { orderNo: 'NO-1', version: 2, createdBy: null, counterpartyWorkspaceBizId: null, createdAt, updatedAt }
  return storedOrder.parse({
    ...ids,
    ...rest,
    orderType,
    status,
    data,
    history: [begun, { ...begun, status, at: ended }],
  })
}

const money = { amount: '1050', currency: 'USD', feeAmount: '25' }
const exchanged = { sourceAmount: '10000', sourceCurrency: 'JPY', targetAmount: '6712', targetCurrency: 'USD' }
const orders = {
  TRANSFERS: ordered('TRANSFER', ['PROCESSING', 'FAILED'], {
    ...money,
    remark: 'r',
    clientReference: 'c',
    failureCode: 'WHY',
  }),
  EXCHANGES: ordered('EXCHANGE', ['PROCESSING', 'COMPLETED'], {
    ...exchanged,
    ...{ rate: '0.0067123', feeAmount: '11', fixedSide: 'SOURCE', quoteBizId: 'quote', failureCode: null },
  }),
  RECHARGES: ordered('RECHARGE', ['PENDING_PAYMENT', 'REJECTED'], {
    ...money,
    ...{ channelCode: 'CARD_USD', proofRequired: 'no', expiresAt: ended, proofFileBizId: 'file' },
    ...{ cancelReason: 'never mind', rejectReason: 'nothing came' },
  }),
  WITHDRAWALS: ordered('WITHDRAWAL', ['PROCESSING', 'COMPLETED'], {
    ...money,
    ...{ withdrawalChannelBizId: 'channel', remark: 'rent', failureReason: 'no such bank', externalReference: 'REF' },
  }),
}

const told: Record<keyof typeof orders, Record<string, unknown>> = {
  TRANSFERS: toTransferView(orders.TRANSFERS, { ...viewer, workspace: orders.TRANSFERS.workspaceBizId }),
  EXCHANGES: toExchangeView(orders.EXCHANGES, viewer),
  RECHARGES: toRechargeView(orders.RECHARGES, viewer),
  WITHDRAWALS: toWithdrawalView(orders.WITHDRAWALS, viewer),
}

/** The rows of an export that finds this order and no other. */
const rowsOf = async (type: keyof typeof orders) => {
  const order = orders[type]
  const ledger: Pick<Ledger, 'readOrders'> = { readOrders: async () => [{ ...order, workspaceKind: 'LIVE' }] }
  const everything = { walletId: undefined, status: undefined, data: {}, from: undefined, to: undefined, asOf: null }
  const asked = { workspace: order.workspaceBizId, ...everything, now: order.updatedAt }
  const { columns, rows } = createOrderSource(ledger, orderKinds[type], asked, 10)
  return { columns, rows: await Array.fromAsync(rows) }
}

/** A coded value is its code in a cell. */
const inCell = (value: unknown): unknown => (isRecord(value) ? value.code : value)

test.each(Object.keys(orders) as (keyof typeof orders)[])(
  'exports.create 200: a row of %s says what the list says of the order, column by column',
  async (type) => {
    const { columns, rows } = await rowsOf(type)
    expect(columns.filter((column) => !(column in told[type]))).toEqual([])
    expect(rows).toEqual([Object.fromEntries(columns.map((column) => [column, inCell(told[type][column])]))])
  },
)
