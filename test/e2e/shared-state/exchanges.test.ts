import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Secret } from '../../../src/config/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

describe('exchanges', needsStore(), () => {
  let portico: Portico
  let owner: Session
  let operator: Session
  const workspace = developmentIds.workspace

  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.money.exchange.quoteLifeMs = 3_000
        settings.money.exchange.band = 'off'
      },
    })
    owner = await signIn(portico)
    operator = await signIn(portico, 'operator@demo.test')
  })
  afterAll(() => portico?.stop())

  const web = (method: string, path: string, body?: unknown, requestId: string = randomUUID()) =>
    portico.call(method, `/web/v1/consumer${path}`, {
      token: owner.accessToken,
      workspace,
      headers: { 'x-request-id': requestId },
      ...(body !== undefined && { body }),
    })
  const system = (method: string, path: string, body?: unknown) =>
    portico.call(method, `/web/v1/system${path}`, { token: operator.accessToken, ...(body !== undefined && { body }) })
  const balance = async (wallet: string) => (await web('GET', `/wallets/${wallet}/balance`)).body.data.availableBalance
  const usdToEur = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '100.00', fixedSide: 'SOURCE' }
  const quoted = async (body: object = usdToEur) => {
    const reply = await web('POST', '/exchanges/quote', body)
    expect(reply.status, reply.text).toBe(200)
    return reply.body.data
  }

  test('exchanges.quote 200: exact amounts, rounded in favor of the house', async () => {
    const quote = await quoted()
    // 0.9215 minus half a percent is 0.9168925. The fee is a thousandth.
    expect(quote).toMatchObject({
      sourceAmount: '100.00',
      targetAmount: '91.68',
      rate: '0.9168925',
      feeAmount: '0.10',
      feeCurrency: 'USD',
      quoteStatus: { code: 'OPEN' },
      fixedSide: { code: 'SOURCE' },
    })
    const target = await quoted({ ...usdToEur, amount: '91.68', fixedSide: 'TARGET' })
    expect(target).toMatchObject({ sourceAmount: '99.99', targetAmount: '91.68' })
    const back = await quoted({ sourceCurrency: 'EUR', targetCurrency: 'USD', amount: '92.15', fixedSide: 'SOURCE' })
    expect(back.targetAmount).toBe('99.50')
  })

  test('exchanges.quote 400 for equal currencies or a too small amount; 404 without a wallet', async () => {
    const same = await web('POST', '/exchanges/quote', { ...usdToEur, targetCurrency: 'USD' })
    expect([same.status, same.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const tiny = await web('POST', '/exchanges/quote', { ...usdToEur, amount: '0.01' })
    expect([tiny.status, tiny.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const unknown = await web('POST', '/exchanges/quote', { ...usdToEur, targetCurrency: 'GBP' })
    expect([unknown.status, unknown.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('exchanges.create 200: executed once at the quoted amounts; a replay returns the same response', async () => {
    const before = { usd: await balance(developmentIds.mainUsd), eur: await balance(developmentIds.mainEur) }
    const { quoteBizId } = await quoted()
    const requestId = randomUUID()
    const created = await web('POST', '/exchanges', { quoteBizId }, requestId)
    expect(created.status, created.text).toBe(200)
    expect(created.body.data).toMatchObject({
      quoteBizId,
      sourceAmount: '100.00',
      targetAmount: '91.68',
      exchangeStatus: { code: 'COMPLETED' },
      failureCode: null,
      completedAt: created.body.data.updatedAt,
    })
    expect((await web('POST', '/exchanges', { quoteBizId }, requestId)).body.data).toEqual(created.body.data)
    const again = await web('POST', '/exchanges', { quoteBizId })
    expect([again.status, again.body.code]).toEqual([422, 'EXCHANGE.QUOTE_UNUSABLE'])
    expect(Number(before.usd) - Number(await balance(developmentIds.mainUsd))).toBeCloseTo(100.1, 6)
    expect(Number(await balance(developmentIds.mainEur)) - Number(before.eur)).toBeCloseTo(91.68, 6)

    const read = await web('GET', `/exchanges/${created.body.data.bizId}`)
    expect(read.body.data).toEqual(created.body.data)
    const list = await web('GET', '/exchanges?sourceCurrency=USD&exchangeStatus=COMPLETED')
    expect(list.body.data.items.map(({ bizId }: { bizId: string }) => bizId)).toContain(created.body.data.bizId)
    expect((await web('GET', '/exchanges?sourceCurrency=EUR')).body.data.items).toEqual([])
  })

  test('exchanges.readQuote 200: OPEN, then USED or EXPIRED; 404 for unknown and malformed ids', async () => {
    const status = async (id: string) => (await web('GET', `/exchanges/quote/${id}`)).body.data.quoteStatus.code
    const [used, left] = [await quoted(), await quoted()]
    expect((await web('GET', `/exchanges/quote/${used.quoteBizId}`)).body.data).toEqual(used)
    await web('POST', '/exchanges', { quoteBizId: used.quoteBizId })
    expect(await status(used.quoteBizId)).toBe('USED')
    await expect.poll(() => status(left.quoteBizId)).toBe('EXPIRED')
    expect(await status(used.quoteBizId)).toBe('USED')
    for (const id of ['01990000-0000-7000-8000-00000000dead', 'x'])
      expect((await web('GET', `/exchanges/quote/${id}`)).body.code).toBe('RESOURCE.NOT_FOUND')
  })

  test('exchanges.create: 20 concurrent requests spend one quote once', async () => {
    const { quoteBizId } = await quoted({ ...usdToEur, amount: '10.00' })
    const responses = await Promise.all(Array.from({ length: 20 }, () => web('POST', '/exchanges', { quoteBizId })))
    const codes = responses.map(({ body }) => body.code).sort()
    expect(codes.filter((code) => code === '2000')).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set(['2000', 'EXCHANGE.QUOTE_UNUSABLE']))
  })

  test('exchanges.create 422: an expired quote, insufficient funds; 404 for an unknown quote', async () => {
    const { quoteBizId } = await quoted({ ...usdToEur, amount: '1.00' })
    const dear = await quoted({ ...usdToEur, amount: '900000.00' })
    const short = await web('POST', '/exchanges', { quoteBizId: dear.quoteBizId })
    expect([short.status, short.body.code]).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
    await pause(3_200)
    const expired = await web('POST', '/exchanges', { quoteBizId })
    expect([expired.status, expired.body.code]).toEqual([422, 'EXCHANGE.QUOTE_UNUSABLE'])
    const unknown = await web('POST', '/exchanges', { quoteBizId: '01990000-0000-7000-8000-00000000dead' })
    expect([unknown.status, unknown.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    expect((await web('GET', '/exchanges/01990000-0000-7000-8000-00000000dead')).status).toBe(404)
  })

  test('exchanges.setRate 200: takes effect immediately in both directions; open quotes are unchanged', async () => {
    const before = await quoted()
    const set = await system('POST', '/exchange-rates', { sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.92' })
    expect(set.status, set.text).toBe(200)
    expect(set.body.data).toMatchObject({ sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.92', quoted: true })
    expect((await quoted()).rate).toBe('0.9154')
    expect((await quoted({ ...usdToEur, sourceCurrency: 'EUR', targetCurrency: 'USD' })).rate).toBe('1.08152173913')
    const created = await web('POST', '/exchanges', { quoteBizId: before.quoteBizId })
    expect(created.body.data.targetAmount).toBe('91.68')
    const rates = (await system('GET', '/exchange-rates')).body.data
    const pair = rates.filter(
      (rate: { sourceCurrency: string; targetCurrency: string }) =>
        [rate.sourceCurrency, rate.targetCurrency].sort().join() === 'EUR,USD',
    )
    expect(pair).toMatchObject([{ rate: '0.92', updatedBy: expect.any(String) }])
    expect(rates.length).toBeGreaterThan(1)
  })

  test('operators.ledgerInvariants 200: the ledger balances afterwards', async () => {
    const { data } = (await system('GET', '/ledger/invariants')).body
    expect(data).toMatchObject({ holds: true })
  })
})

/** Beyond the band of the default settings. */
describe("operators' rates", needsStore(), () => {
  let portico: Portico
  let [owner, operator, checker] = ['', '', '']
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ money: { exchange } }) => {
        // Without a third pair, no cycle of rates can gain.
        exchange.rates = exchange.rates.filter(({ source }) => source !== 'EUR')
      },
    })
    owner = (await signIn(portico)).accessToken
    operator = (await signIn(portico, 'operator@demo.test')).accessToken
    checker = (await signIn(portico, 'checker@demo.test')).accessToken
  })
  afterAll(() => portico?.stop())

  const pair = { sourceCurrency: 'USD', targetCurrency: 'EUR' }
  const as = (token: string, path: string, body: object) =>
    portico.call('POST', `/web/v1/system/exchange-rates${path}`, { token, body })
  const quotedRate = async () => {
    const body = { ...pair, amount: '100.00', fixedSide: 'SOURCE' }
    const call = { token: owner, workspace: developmentIds.workspace, body }
    return (await portico.call('POST', '/web/v1/consumer/exchanges/quote', call)).body.data.rate
  }
  test('exchanges.setRate, confirmRate 200, unsetRate 403: a second operator confirms 0.5, and what ends it', async () => {
    const set = await as(operator, '', { ...pair, rate: '0.5' })
    expect(set.body.data).toMatchObject({ rate: '0.9215', pending: { ...pair, rate: '0.5' } })
    expect(await quotedRate()).toBe('0.9168925')
    const own = await as(operator, '/confirm', { ...pair, rate: '0.5' })
    expect([own.status, own.body.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    const confirmed = await as(checker, '/confirm', { ...pair, rate: '0.5' })
    expect(confirmed.body.data).toMatchObject({ rate: '0.5', confirmedBy: expect.any(String), pending: null })
    const { expiresAt, updatedAt } = confirmed.body.data
    expect(Date.parse(expiresAt) - Date.parse(updatedAt)).toBe(86_400_000)
    expect(await quotedRate()).toBe('0.4975')
    expect((await as(checker, '/confirm', { ...pair, rate: '0.5' })).body.code).toBe('STATE.CONFLICT')
    for (const token of [operator, checker])
      expect((await as(token, '/unset', pair)).body.code).toBe('ACCESS.PERMISSION_DENIED')
    await as(operator, '', { ...pair, rate: '0.9215' })
    await as(checker, '/confirm', { ...pair, rate: '0.9215' })
    expect(await quotedRate()).toBe('0.9168925')
    expect((await as(operator, '/unset', { ...pair, targetCurrency: 'JPY' })).body.code).toBe('RESOURCE.NOT_FOUND')
    const log = await portico.call('GET', '/web/v1/system/audit-log?targetId=USD/EUR&pageSize=100', { token: operator })
    const entries: { action: string; outcome: { code: string } }[] = log.body.data.items
    const succeeded = entries.filter(({ outcome }) => outcome.code === 'SUCCESS').map(({ action }) => action)
    expect(succeeded.toSorted()).toEqual([
      ...['exchanges.confirmRate', 'exchanges.confirmRate', 'exchanges.setRate', 'exchanges.setRate'],
    ])
  })
})

/** Each test sets the response of the service. */
describe('exchange rates from a provider', inTopology('embedded'), () => {
  let portico: Portico
  let provider: Server
  let asOf = ''
  let status = 200

  const start = async () => {
    provider = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ asOf, rates: { 'USD/EUR': '0.8', 'XXX/YYY': '1' } }))
    })
    provider.listen(0, '127.0.0.1')
    await once(provider, 'listening')
    const address = provider.address()
    const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`
    portico = await startPortico({
      adjust: (settings) => {
        settings.money.exchange.provider = {
          url: new Secret(url),
          refreshMs: 1_000,
          staleAfterMs: 2_000,
        }
      },
    })
    return signIn(portico)
  }
  afterAll(async () => {
    await portico?.stop()
    provider?.close()
  })

  test('exchanges.quote 200 at a fresh rate; 422 EXCHANGE.RATE_UNAVAILABLE at a stale one', async () => {
    asOf = new Date().toISOString()
    const { accessToken: token } = await start()
    const quote = () =>
      portico.call('POST', '/web/v1/consumer/exchanges/quote', {
        token,
        workspace: developmentIds.workspace,
        body: { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '100.00', fixedSide: 'SOURCE' },
      })
    const until = async (wanted: number) => {
      let last = await quote()
      await expect
        .poll(async () => {
          last = await quote()
          return last.status
        })
        .toBe(wanted)
      return last
    }
    status = 500
    const refused = await until(422)
    expect(refused.body.code).toBe('EXCHANGE.RATE_UNAVAILABLE')
    status = 200
    asOf = new Date(Date.now() + 60_000).toISOString()
    expect((await until(200)).body.data.rate).toBe('0.796')
  })
})
