import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../src/contract/exchanges.ts'
import { createExchanges } from '../../src/domains/exchanges/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { testDatabase } from '../identity/database.ts'
import { asker } from '../ledger/ask.ts'
import { createBook } from '../ledger/book.ts'
import { refusalOf, words } from './world.ts'

const quoteLifeMs = 30_000
const share = { over: 0n, under: 1n }

const bench = async () => {
  const { database, close } = await testDatabase()
  const book = await createBook(database)
  const { ledger, clock } = book
  const rates = { list: () => [{ source: 'USD', target: 'EUR', rate: '0.8', asOf: clock.now() }] }
  const terms = { spread: share, feeRate: share, quoteLifeMs }
  const { handlers } = createExchanges({
    database,
    ledger,
    clock,
    ids: systemIds,
    words,
    rates,
    terms,
    expiryMs: 60_000,
  })
  // A sandbox's exchanges need no liquidity.
  const workspace = await book.workspace('SANDBOX')
  const open = async (currency: string) => {
    const wallet = systemIds.next<'wallet'>()
    const made = { bizId: wallet, workspaceBizId: workspace, walletName: currency, currency, isDefault: true }
    await database.transaction().execute((tx) => ledger.within(tx).openWallet({ ...made, at: clock.now() }))
    return wallet
  }
  await ledger.ensureHouse(['USD', 'EUR'])
  const wallet = await open('USD')
  await open('EUR')
  await ledger.fundWallet({ wallet, workspace, amount: { minor: 100_000n, currency: 'USD' } })
  const as = { as: systemIds.next<'account'>(), workspace }
  const ask = asker([handlers], clock)
  const pair = { sourceCurrency: 'USD', targetCurrency: 'EUR' }
  return {
    clock,
    close,
    quote: () => ask(contract.quoteExchange, { ...as, body: { ...pair, amount: '1.00', fixedSide: 'SOURCE' } }),
    status: async (quote_id: string) =>
      (await ask(contract.readExchangeQuote, { ...as, params: { quote_id } })).quoteStatus.code,
    exchange: (quoteBizId: string) => refusalOf(ask(contract.createExchange, { ...as, body: { quoteBizId } })),
  }
}

let world: Awaited<ReturnType<typeof bench>>
beforeAll(async () => {
  world = await bench()
})
afterAll(() => world?.close())

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
