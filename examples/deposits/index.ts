/* A domain of deposits, which declares their life cycle once. docs/guides/order-life-cycle.md explains it. */
import {
  addMs,
  createOrders,
  declaredBy,
  domain,
  expireOrders,
  expiryBatchSize,
  formatMoney,
  hours,
  minutes,
  money,
  notFound,
  type Order,
  type Party,
  toCodedValue,
  toIso,
  toOrderView,
  untilNotFull,
  type Viewer,
} from 'portico'
import { z } from 'portico/contract'
import * as contract from './contract.ts'

const lifeMs = hours(72)

/** Amounts in the data of an order are strings of minor units. */
const storedData = z.object({
  amount: z.string().transform(BigInt),
  currency: z.string(),
  declineReason: z.string().nullable(),
  expiresAt: z.string(),
})

function toDepositView(order: Order, viewer: Viewer) {
  const { amount, currency, ...data } = storedData.parse(order.data)
  return {
    ...toOrderView(order, contract.depositStatus, viewer),
    ...data,
    walletBizId: walletOf(order),
    amount: formatMoney(money(amount, currency)),
    currency,
    depositStatus: toCodedValue(contract.depositStatus, order.status, viewer),
  }
}

/** The entries sum to zero. A negative amount pays back. */
function postingsOf(order: Order, direction: 1n | -1n) {
  const [wallet, workspace] = [walletOf(order), order.workspaceBizId]
  const { amount, currency } = storedData.parse(order.data)
  const parties: Party[] = [
    { label: 'source', wallet, workspace, currency, active: direction > 0n, currencyField: 'currency' },
    { label: 'house', house: 'DEPOSITS', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' },
  ]
  const entries = [
    { account: 'source', amount: -amount * direction, flowType: 'DEPOSIT' as const },
    { account: 'house', amount: amount * direction, flowType: 'DEPOSIT' as const },
  ]
  return { parties, entries }
}

function walletOf({ bizId, sourceWalletBizId: wallet }: Order) {
  if (wallet === null) throw new TypeError(`deposit ${bizId} lacks its wallet`)
  return wallet
}

export default domain({
  name: 'deposits',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  needs: ['ledger', 'words'],
  create: ({ ledger, words }) => {
    const orders = createOrders(contract.deposits, { ledger, words }, toDepositView)
    return {
      handlers: {
        listDeposits: orders.list,
        readDeposit: orders.read,
        listAllDeposits: orders.listAll,

        requestDeposit: orders.create(async ({ body }, context) => {
          const { workspace, receivedAt } = context
          const { minor, currency } = body.amount
          const wallet = await ledger.readDefaultWallet({ workspace, currency })
          if (!wallet) throw notFound('no default wallet in the currency')
          const source = { label: 'source', wallet: wallet.bizId, workspace, currency, active: true } as const
          const expiresAt = toIso(addMs(receivedAt, lifeMs))
          return orders.open('request', context, {
            parties: [{ ...source, currencyField: 'currency' }],
            holds: [{ account: 'source', amount: minor }],
            order: { data: { amount: String(minor), currency, declineReason: null, expiresAt } },
          })
        }),

        cancelDeposit: orders.move('cancel'),
        acceptDeposit: orders.move('accept', async (_, __, read) => postingsOf(await read(), 1n)),
        declineDeposit: orders.move('decline', ({ body }) => body),
        payDepositBack: orders.move('payBack', async (_, __, read) => postingsOf(await read(), -1n)),
      },
      jobs: [
        {
          name: contract.expiryJob,
          attempts: 1,
          everyMs: minutes(1),
          work: (_, { jobId, signal }) =>
            untilNotFull(expiryBatchSize, signal, () =>
              expireOrders(ledger, contract.deposits, { requestId: jobId, workspace: null, signal }),
            ),
        },
      ],
    }
  },
})
