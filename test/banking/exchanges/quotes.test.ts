import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/exchanges/contract.ts'
import { createExchanges } from '../../../src/banking/exchanges/index.ts'
import { readQuote } from '../../../src/banking/exchanges/store.ts'
import { sqlState } from '../../../src/database/errors.ts'
import type { Database } from '../../../src/database/index.ts'
import { bizId, type WalletId, type WorkspaceId } from '../../../src/kernel/index.ts'
import type { OrderData } from '../../../src/ledger/index.ts'
import { systemClock, systemIds } from '../../../src/platform/runtime/index.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { refusalOf, transactionOf, words } from '../world.ts'

const quoteLifeMs = 30_000
const share = { numerator: 0n, denominator: 1n }

async function openExchanges(database: Database, kind: 'LIVE' | 'SANDBOX', currencies = ['USD', 'EUR']) {
  const bank = await createTestBank(database)
  const { ledger, clock } = bank
  const rates = { list: () => [{ source: 'USD', target: 'EUR', rate: '0.8', asOf: clock.now() }] }
  const terms = { spread: share, feeRate: share, quoteLifeMs }
  const { handlers } = createExchanges({
    logger: { warn: () => undefined },
    database,
    transaction: transactionOf(database),
    ledger,
    clock,
    ids: systemIds,
    words,
    rates,
    currencies,
    terms,
    operatorRates: { ttlMs: 86_400_000, band: null },
  })
  const workspace = await bank.workspace(kind)
  const open = async (currency: string, isDefault = true) => {
    const wallet = systemIds.next<'wallet'>()
    const newWallet = { bizId: wallet, workspaceBizId: workspace, walletName: currency, currency, isDefault }
    await database.transaction().execute((tx) => ledger.within(tx).openWallet({ ...newWallet, at: clock.now() }))
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
    /** Bypasses the service. Returns `created` or the SQLSTATE. */
    order: async (
      quoteBizId: string,
      changes: { source?: WalletId; figures?: OrderData; workspace?: WorkspaceId } = {},
    ) => {
      const id = bizId<'quote'>(quoteBizId)
      const found = await readQuote(database, { id, workspace })
      if (!found) throw new Error('unknown quote')
      const data = { ...(found.figures as OrderData), quoteBizId, failureCode: null, ...changes.figures }
      const party = { workspace: null, active: true, currencyField: '' }
      return ledger
        .execute({
          actor: as.as,
          parties: [
            { ...party, label: 'source', wallet: changes.source ?? found.sourceWallet, currency: 'USD' },
            { ...party, label: 'target', wallet: found.targetWallet, currency: 'EUR' },
          ],
          create: {
            workspace: changes.workspace ?? workspace,
            type: 'EXCHANGE',
            data,
            steps: [{ status: 'PROCESSING' }],
          },
        })
        .then(() => 'created', sqlState)
    },
    otherWorkspace: () => bank.workspace('SANDBOX'),
  }
}

let store: Awaited<ReturnType<typeof testDatabase>>
let fixture: Awaited<ReturnType<typeof openExchanges>>
beforeAll(async () => {
  store = await testDatabase()
  // A sandbox needs no liquidity.
  fixture = await openExchanges(store.database, 'SANDBOX')
})
afterAll(() => store?.close())

test('exchanges.create 422: the database accepts a quote once, unexpired, unchanged, in its workspace', async () => {
  const { clock, quote, order, open, otherWorkspace } = fixture
  const unusable = 'PQ001'
  const { quoteBizId } = await quote()
  expect(await order(quoteBizId, { workspace: await otherWorkspace() })).toBe(unusable)
  expect(await order(quoteBizId, { source: await open('USD', false) })).toBe(unusable)
  expect(await order(quoteBizId, { figures: { targetAmount: '99999' } })).toBe(unusable)
  expect(await order(quoteBizId)).toBe('created')
  expect(await order(quoteBizId)).toBe(unusable)
  const expiring = await quote()
  clock.advance(quoteLifeMs)
  expect(await order(expiring.quoteBizId)).toBe(unusable)
})

test.each(['source', 'target'] as const)(
  'exchanges.quote, create 422 WALLET.NOT_ACTIVE: the %s wallet is frozen',
  async (side) => {
    const { quote, exchange, move, wallets } = fixture
    const { quoteBizId } = await quote()
    await move(wallets[side], 'ACTIVE', 'FROZEN')
    expect(await refusalOf(quote())).toBe('WALLET.NOT_ACTIVE')
    expect(await exchange(quoteBizId)).toBe('WALLET.NOT_ACTIVE')
    await move(wallets[side], 'FROZEN', 'ACTIVE')
    expect(await exchange(quoteBizId)).toBe('none')
  },
)

test.each([
  ['in its last millisecond', quoteLifeMs - 1, 'OPEN', 'none'],
  ['at its expiry', quoteLifeMs, 'EXPIRED', 'EXCHANGE.QUOTE_UNUSABLE'],
  ['on a replica with a clock behind by its lifetime', -quoteLifeMs, 'OPEN', 'none'],
  ['after the clock was set back by more than its lifetime', -quoteLifeMs - 1, 'EXPIRED', 'EXCHANGE.QUOTE_UNUSABLE'],
  ['after the clock was set back by an hour', -3_600_000, 'EXPIRED', 'EXCHANGE.QUOTE_UNUSABLE'],
])('exchanges.create: quote used %s', async (_when, laterMs, status, code) => {
  const { clock, quote, exchange } = fixture
  const { quoteBizId } = await quote()
  clock.advance(laterMs)
  expect(await fixture.status(quoteBizId)).toBe(status)
  expect(await exchange(quoteBizId)).toBe(code)
})

test('exchanges.create 200: an account’s last entry is ahead of the clock', async () => {
  const { clock, quote, exchange } = await openExchanges(store.database, 'SANDBOX')
  clock.advance(systemClock.now() + 3_600_000 - clock.now())
  expect(await exchange((await quote()).quoteBizId)).toBe('none')
  clock.advance(-3_600_000)
  expect(await exchange((await quote()).quoteBizId)).toBe('none')
})

test('exchanges.create 422 EXCHANGE.RATE_UNAVAILABLE: insufficient liquidity changes nothing', async () => {
  const { exchange, ledger, quote, status, totals } = await openExchanges(store.database, 'LIVE')
  await ledger.provideFunds('LIQUIDITY', [{ minor: 79n, currency: 'EUR' }])
  const { quoteBizId } = await quote()
  expect(await exchange(quoteBizId)).toBe('EXCHANGE.RATE_UNAVAILABLE')
  expect([await totals(), await status(quoteBizId)]).toEqual([[100_000n, 0n], 'OPEN'])
  await ledger.provideFunds('LIQUIDITY', [{ minor: 80n, currency: 'EUR' }])
  expect(await exchange(quoteBizId)).toBe('none')
  expect([await totals(), await status(quoteBizId)]).toEqual([[99_900n, 80n], 'USED'])
  expect(await exchange((await quote()).quoteBizId)).toBe('EXCHANGE.RATE_UNAVAILABLE')
  expect(await ledger.verifyLedger()).toBeNull()
})

test('exchanges.quote 422 EXCHANGE.RATE_UNAVAILABLE: a removed currency, in spite of a rate set earlier', async () => {
  const own = await testDatabase()
  const before = await openExchanges(own.database, 'SANDBOX')
  await before.setRate({ sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '5' })
  expect((await before.quote()).rate).toBe('5')
  const { listRates, quote, setRate } = await openExchanges(own.database, 'SANDBOX', ['USD'])
  expect(await refusalOf(quote())).toBe('EXCHANGE.RATE_UNAVAILABLE')
  expect(await listRates()).toEqual([])
  const result = setRate({ sourceCurrency: 'EUR', targetCurrency: 'USD', rate: '1' })
  expect(await refusalOf(result)).toBe('VALIDATION.INVALID_PARAMETER')
  await own.close()
})
