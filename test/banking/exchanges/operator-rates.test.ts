import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as contract from '../../../src/banking/exchanges/contract.ts'
import { createExchanges } from '../../../src/banking/exchanges/index.ts'
import { isWithinBand, maxTriangleGain } from '../../../src/banking/exchanges/rules.ts'
import { type AccountId, type Portal, parseRatio, type Ratio, toDate } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { insertAccount, refusalOf, transactionOf, words } from '../world.ts'

const ttlMs = 60_000
const dayMs = 86_400_000
const warnings: unknown[] = []
function share(text: string): Ratio {
  const parsed = parseRatio(text)
  if (!parsed) throw new Error(text)
  return parsed
}
const pair = { sourceCurrency: 'USD', targetCurrency: 'EUR' }
const reverse = { sourceCurrency: 'EUR', targetCurrency: 'USD' }
const unknownPair = { sourceCurrency: 'USD', targetCurrency: 'JPY' }
type PairBody = typeof pair

async function openRates() {
  const { database, close } = await testDatabase()
  const bank = await createTestBank(database)
  const { ledger, clock } = bank
  const { handlers, readGains } = createExchanges({
    logger: { warn: (...logged: unknown[]) => warnings.push(logged) },
    transaction: transactionOf(database),
    ...{ database, ledger, clock, words, ids: systemIds, currencies: ['USD', 'EUR', 'JPY'] },
    rates: { list: () => [{ source: 'USD', target: 'EUR', rate: '0.8', asOf: clock.now() }] },
    terms: { spread: share('0'), feeRate: share('0'), quoteLifeMs: 1_000 },
    operatorRates: { ttlMs, band: share('0.05') },
  })
  const call = handlerCaller([handlers], clock)
  const workspace = await bank.workspace('SANDBOX')
  for (const currency of ['USD', 'EUR', 'JPY']) {
    const wallet = { bizId: systemIds.next<'wallet'>(), workspaceBizId: workspace, walletName: currency, currency }
    const opened = { ...wallet, isDefault: true, at: clock.now() }
    await database.transaction().execute((tx) => ledger.within(tx).openWallet(opened))
  }
  /** Adds an account to the workspace. */
  const join = async (member: AccountId) => {
    const dates = { createdAt: toDate(clock.now()), updatedAt: toDate(clock.now()) }
    const role = systemIds.next<'role'>()
    const named = { roleName: role, description: '', roleType: 'CUSTOM' } as const
    await database
      .insertInto('roles')
      .values({ bizId: role, workspaceBizId: workspace, permissionCodes: [], ...named, ...dates })
      .execute()
    const membership = { workspaceBizId: workspace, accountBizId: member, roleBizId: role, ...dates }
    await database
      .insertInto('memberships')
      .values({ ...membership, joinSource: 'INVITATION', isDefault: false, policyConfig: null })
      .execute()
  }
  return {
    close,
    clock,
    readGains,
    join,
    account: (email: string, portal?: Portal) => insertAccount(database, email, clock.now(), portal),
    set: (as: AccountId, rate: string, of: PairBody = pair) =>
      call(contract.setExchangeRate, { as, body: { ...of, rate } }),
    confirm: (as: AccountId, rate: string, of: PairBody = pair) =>
      call(contract.confirmExchangeRate, { as, body: { ...of, rate } }),
    unset: (as: AccountId, of: PairBody = pair) => call(contract.unsetExchangeRate, { as, body: of }),
    list: (as: AccountId) => call(contract.listExchangeRates, { as }),
    quote: (as: AccountId = systemIds.next<'account'>(), of: PairBody = pair) =>
      call(contract.quoteExchange, { as, workspace, body: { ...of, amount: '100', fixedSide: 'SOURCE' } }),
  }
}

let fixture: Awaited<ReturnType<typeof openRates>>
const [one, two] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
beforeAll(async () => {
  fixture = await openRates()
})
afterAll(() => fixture?.close())
// Rates of earlier tests expire, and the pairs may be moved again.
beforeEach(() => fixture.clock.advance(dayMs))

test('exchanges.setRate 200: within the band it applies immediately, until it expires', async () => {
  const { set, quote, clock, list } = fixture
  const expiresAt = new Date(clock.now() + ttlMs).toISOString()
  const row = { ...pair, rate: '0.84', updatedBy: one, confirmedBy: null, expiresAt, pending: null }
  expect(await set(one, '0.84')).toMatchObject(row)
  expect(await list(one)).toMatchObject([row])
  expect((await quote()).rate).toBe('0.84')
  clock.advance(ttlMs - 1)
  expect((await quote()).rate).toBe('0.84')
  clock.advance(1)
  expect((await quote()).rate).toBe('0.8')
  expect(await list(one)).toMatchObject([{ rate: '0.8', updatedBy: null, expiresAt: null }])
})

test('exchanges.setRate 200: beyond the band it waits for a second operator, and the earlier rate applies', async () => {
  const { set, quote, confirm, list } = fixture
  await set(one, '0.81')
  const proposed = await set(two, '0.9')
  expect(proposed).toMatchObject({ rate: '0.81', updatedBy: one, pending: { ...pair, rate: '0.9', setBy: two } })
  expect(await list(one)).toMatchObject([{ pending: { rate: '0.9' } }])
  expect((await quote()).rate).toBe('0.81')
  expect(await refusalOf(confirm(two, '0.9'))).toBe('ACCESS.PERMISSION_DENIED')
  expect(await refusalOf(confirm(one, '0.91'))).toBe('STATE.CONFLICT')
  expect((await quote()).rate).toBe('0.81')
  expect(await confirm(one, '0.9')).toMatchObject({ rate: '0.9', updatedBy: two, confirmedBy: one, pending: null })
  expect((await quote()).rate).toBe('0.9')
  expect(await refusalOf(confirm(one, '0.9'))).toBe('STATE.CONFLICT')
})

test('exchanges.quote 403 ACCESS.PERMISSION_DENIED: the operators who set and confirmed the rate', async () => {
  const { set, confirm, quote } = fixture
  await set(one, '0.4')
  await confirm(two, '0.4')
  for (const operator of [one, two]) expect(await refusalOf(quote(operator))).toBe('ACCESS.PERMISSION_DENIED')
  expect((await quote()).rate).toBe('0.4')
})

test('exchanges.quote 403 ACCESS.PERMISSION_DENIED: a colleague of the operator, in the workspace of both', async () => {
  const { set, confirm, quote, account, join } = fixture
  const setter = await account('rates@example.test', 'SYSTEM')
  const person = await account('rates+home@example.test')
  const colleague = await account('colleague@example.test')
  await set(setter, '0.79')
  expect((await quote(colleague)).rate).toBe('0.79')
  await join(person)
  for (const member of [person, colleague]) expect(await refusalOf(quote(member))).toBe('ACCESS.PERMISSION_DENIED')
  await set(one, '0.4')
  await confirm(setter, '0.4')
  expect(await refusalOf(quote(colleague))).toBe('ACCESS.PERMISSION_DENIED')
  fixture.clock.advance(dayMs)
  await set(two, '0.81')
  expect((await quote(colleague)).rate).toBe('0.81')
})

test('exchanges.confirmRate: of concurrent confirmations exactly one takes effect; a new proposal replaces the old', async () => {
  const { set, confirm } = fixture
  await set(one, '0.5')
  await set(one, '0.6', reverse)
  expect(await refusalOf(confirm(two, '0.5'))).toBe('STATE.CONFLICT')
  const results = await Promise.all([1, 2, 3].map(() => refusalOf(confirm(two, '0.6', reverse))))
  expect(results.toSorted()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'none'])
})

test('exchanges.confirmRate 409 STATE.CONFLICT: an expired proposal', async () => {
  const { set, confirm, clock, list } = fixture
  await set(one, '0.5')
  clock.advance(ttlMs)
  expect(await refusalOf(confirm(two, '0.5'))).toBe('STATE.CONFLICT')
  expect(await list(one)).toMatchObject([{ pending: null }])
})

test('exchanges.setRate 200: without a rate of the source a second operator confirms', async () => {
  const { set, quote, confirm, list } = fixture
  expect(await set(one, '150', unknownPair)).toMatchObject({ rate: null, updatedAt: null, pending: { rate: '150' } })
  expect(await list(one)).toHaveLength(2)
  expect(await refusalOf(quote(undefined, unknownPair))).toBe('EXCHANGE.RATE_UNAVAILABLE')
  await confirm(two, '150', unknownPair)
  expect((await quote(undefined, unknownPair)).rate).toBe('150')
})

test('exchanges.unsetRate 200: the rate of the source applies again; 404 without a rate of an operator', async () => {
  const { set, unset, quote } = fixture
  await set(one, '0.79')
  await set(one, '0.1')
  expect(await unset(two, reverse)).toMatchObject({ ...pair, rate: '0.8', updatedBy: null, pending: null })
  expect((await quote()).rate).toBe('0.8')
  expect(await refusalOf(unset(two))).toBe('RESOURCE.NOT_FOUND')
})

test('exchanges.setRate 200: a pair that moved within 24 hours waits for a second operator; a renewal does not', async () => {
  const { set, quote, confirm, unset, clock } = fixture
  await set(one, '0.83')
  clock.advance(ttlMs / 2)
  expect(await set(one, '0.83')).toMatchObject({ rate: '0.83', pending: null })
  for (const operator of [one, two])
    expect(await set(operator, '0.78')).toMatchObject({ rate: '0.83', pending: { rate: '0.78' } })
  clock.advance(dayMs - 1)
  expect(await set(one, '0.78')).toMatchObject({ rate: '0.8', pending: { rate: '0.78' } })
  expect(await confirm(two, '0.78')).toMatchObject({ rate: '0.78' })
  expect(await refusalOf(unset(one))).toBe('ACCESS.PERMISSION_DENIED')
  clock.advance(dayMs - 1)
  expect(await set(two, '0.79')).toMatchObject({ pending: { rate: '0.79' } })
  clock.advance(1)
  expect(await set(two, '0.79')).toMatchObject({ rate: '0.79', pending: null })
  expect((await quote()).rate).toBe('0.79')
})

test('exchanges.unsetRate 403 within 24 hours: the operators of the rate; another one may, and that is a move', async () => {
  const { set, unset, clock } = fixture
  await set(one, '0.83')
  expect(await refusalOf(unset(one))).toBe('ACCESS.PERMISSION_DENIED')
  expect(await unset(two)).toMatchObject({ rate: '0.8', updatedBy: null })
  clock.advance(dayMs - 1)
  expect(await set(one, '0.83')).toMatchObject({ rate: '0.8', pending: { rate: '0.83' } })
  expect(await unset(one)).toMatchObject({ pending: null })
})

test.each([
  ['0.76', true],
  ['0.84', true],
  ['0.7599', false],
  ['0.8401', false],
  ['0.8', true],
])('a rate of %s is within 5 %% of 0.8: %s', (rate, expected) => {
  expect(isWithinBand(share(rate), share('0.8'), share('0.05'))).toBe(expected)
})

test('the gain of a triangle is after spread and fee, in either direction, and null without three currencies', async () => {
  const free = { spread: share('0'), feeRate: share('0') }
  const rates = [
    { source: 'USD', target: 'EUR', rate: '0.5' },
    { source: 'EUR', target: 'JPY', rate: '100' },
    { source: 'JPY', target: 'USD', rate: '0.03' },
  ]
  expect(maxTriangleGain(rates, free)).toBeCloseTo(0.5, 9)
  expect(
    maxTriangleGain(
      rates.map(({ source, target, rate }) => ({ source: target, target: source, rate: `${1 / Number(rate)}` })),
      free,
    ),
  ).toBeCloseTo(0.5, 9)
  expect(maxTriangleGain(rates, { spread: share('0.1'), feeRate: share('0.25') })).toBeCloseTo(1.5 * 0.72 ** 3 - 1, 9)
  expect(maxTriangleGain(rates.slice(1), free)).toBeNull()
  expect((await fixture.readGains()).triangle).toBeNull()
})
