import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqlState } from '../../../src/database/errors.ts'
import type { Database } from '../../../src/database/index.ts'
import * as contract from '../../../src/domains/exchanges/contract.ts'
import { createExchanges } from '../../../src/domains/exchanges/index.ts'
import { readQuote } from '../../../src/domains/exchanges/store.ts'
import { bizId, type WalletId, type WorkspaceId } from '../../../src/kernel/index.ts'
import type { OrderData } from '../../../src/ledger/index.ts'
import { systemClock, systemIds } from '../../../src/platform/runtime/index.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { refusalOf, words } from '../world.ts'

const quoteLifeMs = 30_000
const share = { numerator: 0n, denominator: 1n }

const bench = async (database: Database, kind: 'LIVE' | 'SANDBOX', currencies = ['USD', 'EUR']) => {
  const bank = await createTestBank(database)
  const { ledger, clock } = bank
  const rates = { list: () => [{ source: 'USD', target: 'EUR', rate: '0.8', asOf: clock.now() }] }
  const terms = { spread: share, feeRate: share, quoteLifeMs }
  const { handlers } = createExchanges({
    database,
    ledger,
    clock,
    ids: systemIds,
    words,
    rates,
    currencies,
    terms,
    expiryMs: 60_000,
  })
  const workspace = await bank.workspace(kind)
  const open = async (currency: string, isDefault = true) => {
    const wallet = systemIds.next<'wallet'>()
    const made = { bizId: wallet, workspaceBizId: workspace, walletName: currency, currency, isDefault }
    await database.transaction().execute((tx) => ledger.within(tx).openWallet({ ...made, at: clock.now() }))
    return wallet
  }
  await ledger.ensureHouseAccounts(['USD', 'EUR'])
  const wallet = await open('USD')
  const target = await open('EUR')
  await ledger.fundWallet({ wallet, workspace, amount: { minor: 100_000n, currency: 'USD' }, actor: null })
  const as = { as: systemIds.next<'account'>(), workspace }
  const operator = systemIds.next<'account'>()
  const call = handlerCaller([handlers], clock)
  const pair = { sourceCurrency: 'USD', targetCurrency: 'EUR' }
  const totalOf = async (id: WalletId) => (await ledger.readBalance({ wallet: id, workspace }))?.total.minor
  return {
    clock,
    ledger,
    totals: async () => [await totalOf(wallet), await totalOf(target)],
    wallets: { source: wallet, target },
    move: (wallet: WalletId, from: 'ACTIVE' | 'FROZEN', to: 'ACTIVE' | 'FROZEN') =>
      ledger.changeWalletStatus({ wallet, from, to, at: clock.now() }),
    quote: () => call(contract.quoteExchange, { ...as, body: { ...pair, amount: '1.00', fixedSide: 'SOURCE' } }),
    setRate: (body: Record<'sourceCurrency' | 'targetCurrency' | 'rate', string>) =>
      call(contract.setExchangeRate, { as: operator, body }),
    listRates: () => call(contract.listExchangeRates, { as: as.as }),
    status: async (quote_id: string) =>
      (await call(contract.readExchangeQuote, { ...as, params: { quote_id } })).quoteStatus.code,
    exchange: (quoteBizId: string) => refusalOf(call(contract.createExchange, { ...as, body: { quoteBizId } })),
    open,
    /** Whatever the service would have looked at: an order of the quote, written as somebody says. */
    order: async (
      quoteBizId: string,
      said: { source?: WalletId; figures?: OrderData; workspace?: WorkspaceId } = {},
    ) => {
      const id = bizId<'quote'>(quoteBizId)
      const found = await readQuote(database, { id, workspace })
      if (!found) throw new Error('no such quote')
      const data = { ...(found.figures as OrderData), quoteBizId, failureCode: null, ...said.figures }
      const party = { workspace: null, active: true, currencyField: '' }
      return ledger
        .execute({
          actor: as.as,
          parties: [
            { ...party, label: 'source', wallet: said.source ?? found.sourceWallet, currency: 'USD' },
            { ...party, label: 'target', wallet: found.targetWallet, currency: 'EUR' },
          ],
          create: { workspace: said.workspace ?? workspace, type: 'EXCHANGE', data, steps: [{ status: 'PROCESSING' }] },
        })
        .then(() => 'made', sqlState)
    },
    elsewhere: () => bank.workspace('SANDBOX'),
  }
}

let store: Awaited<ReturnType<typeof testDatabase>>
let world: Awaited<ReturnType<typeof bench>>
beforeAll(async () => {
  store = await testDatabase()
  // Its exchanges need no liquidity.
  world = await bench(store.database, 'SANDBOX')
})
afterAll(() => store?.close())

test('exchanges.create 422: the database itself spends a quote once, in its time and workspace, as it was given out', async () => {
  const { clock, quote, order, open, elsewhere } = world
  const none = 'PQ001'
  const { quoteBizId } = await quote()
  expect(await order(quoteBizId, { workspace: await elsewhere() })).toBe(none)
  expect(await order(quoteBizId, { source: await open('USD', false) })).toBe(none)
  expect(await order(quoteBizId, { figures: { targetAmount: '99999' } })).toBe(none)
  expect(await order(quoteBizId)).toBe('made')
  expect(await order(quoteBizId)).toBe(none)
  const late = await quote()
  clock.advance(quoteLifeMs)
  expect(await order(late.quoteBizId)).toBe(none)
})

test.each(['source', 'target'] as const)(
  'exchanges.quote 422 WALLET.NOT_ACTIVE: no quote for a %s wallet that is frozen, and none of before is good',
  async (side) => {
    const { quote, exchange, move, wallets } = world
    const { quoteBizId } = await quote()
    await move(wallets[side], 'ACTIVE', 'FROZEN')
    expect(await refusalOf(quote())).toBe('WALLET.NOT_ACTIVE')
    expect(await exchange(quoteBizId)).toBe('WALLET.NOT_ACTIVE')
    await move(wallets[side], 'FROZEN', 'ACTIVE')
    expect(await exchange(quoteBizId)).toBe('none')
  },
)

test.each([
  ['in the last millisecond of its life', quoteLifeMs - 1, 'OPEN', 'none'],
  ['at its end', quoteLifeMs, 'EXPIRED', 'EXCHANGE.QUOTE_UNUSABLE'],
  ['at a replica whose clock is behind by as much as its life', -quoteLifeMs, 'OPEN', 'none'],
  ['once the clock was set back by more than its life', -quoteLifeMs - 1, 'EXPIRED', 'EXCHANGE.QUOTE_UNUSABLE'],
  ['once the clock was set back by an hour', -3_600_000, 'EXPIRED', 'EXCHANGE.QUOTE_UNUSABLE'],
])('exchanges.create by a quote %s', async (_when, laterMs, status, code) => {
  const { clock, quote, exchange } = world
  const { quoteBizId } = await quote()
  clock.advance(laterMs)
  expect(await world.status(quoteBizId)).toBe(status)
  expect(await exchange(quoteBizId)).toBe(code)
})

test('exchanges.create 200 by a new quote where an account it moves was last moved by a clock that was ahead', async () => {
  const { clock, quote, exchange } = await bench(store.database, 'SANDBOX')
  clock.advance(systemClock.now() + 3_600_000 - clock.now())
  expect(await exchange((await quote()).quoteBizId)).toBe('none')
  clock.advance(-3_600_000)
  expect(await exchange((await quote()).quoteBizId)).toBe('none')
})

test('exchanges.create 422 EXCHANGE.RATE_UNAVAILABLE where the house has too little to give: nothing moves, and the quote stays good', async () => {
  const { exchange, ledger, quote, status, totals } = await bench(store.database, 'LIVE')
  await ledger.provideLiquidity([{ minor: 79n, currency: 'EUR' }])
  const { quoteBizId } = await quote()
  expect(await exchange(quoteBizId)).toBe('EXCHANGE.RATE_UNAVAILABLE')
  expect([await totals(), await status(quoteBizId)]).toEqual([[100_000n, 0n], 'OPEN'])
  await ledger.provideLiquidity([{ minor: 80n, currency: 'EUR' }])
  expect(await exchange(quoteBizId)).toBe('none')
  expect([await totals(), await status(quoteBizId)]).toEqual([[99_900n, 80n], 'USED'])
  expect(await exchange((await quote()).quoteBizId)).toBe('EXCHANGE.RATE_UNAVAILABLE')
  expect(await ledger.verifyLedger()).toBeNull()
})

test('exchanges.quote 422 EXCHANGE.RATE_UNAVAILABLE once a currency is not kept any more, whatever rate an operator once set', async () => {
  const own = await testDatabase()
  const before = await bench(own.database, 'SANDBOX')
  await before.setRate({ sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '5' })
  expect((await before.quote()).rate).toBe('5')
  const { listRates, quote, setRate } = await bench(own.database, 'SANDBOX', ['USD'])
  expect(await refusalOf(quote())).toBe('EXCHANGE.RATE_UNAVAILABLE')
  expect(await listRates()).toEqual([])
  const useless = setRate({ sourceCurrency: 'EUR', targetCurrency: 'USD', rate: '1' })
  expect(await refusalOf(useless)).toBe('VALIDATION.INVALID_PARAMETER')
  await own.close()
})
