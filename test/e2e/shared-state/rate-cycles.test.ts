import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import type { Answer } from '../../harness/http.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'
import { codeOf } from '../money-world.ts'

const unavailable = [422, 'EXCHANGE.RATE_UNAVAILABLE']
/** USD, EUR, JPY and back to USD. Each rate is within the band. */
const attack = [
  { sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.96748' },
  { sourceCurrency: 'EUR', targetCurrency: 'JPY', rate: '169.0129' },
  { sourceCurrency: 'USD', targetCurrency: 'JPY', rate: '140.9474' },
] as const

async function startRatesWorld() {
  const portico = await startPortico()
  const tokens = {
    owner: (await signIn(portico)).accessToken,
    operator: (await signIn(portico, 'operator@demo.test')).accessToken,
    checker: (await signIn(portico, 'checker@demo.test')).accessToken,
  }
  const data = async (request: Promise<Answer>) => {
    const { status, text, body } = await request
    expect(status, text).toBe(200)
    return body.data
  }
  const rates = (path: string, body: object, token = tokens.operator) =>
    portico.call('POST', `/web/v1/system/exchange-rates${path}`, { token, body })
  const consumer = (method: string, path: string, workspace: string, body?: object) =>
    portico.call(method, `/web/v1/consumer${path}`, {
      ...{ token: tokens.owner, workspace, headers: { 'x-request-id': randomUUID() } },
      ...(body && { body }),
    })
  // A new workspace has a wallet in each currency.
  const { workspace, mainUsd } = developmentIds
  const { bizId } = await data(consumer('POST', '/workspaces', workspace, { workspaceName: 'Exchanges' }))
  const wallets: { bizId: string; currency: string }[] = await data(consumer('GET', '/wallets', bizId))
  const targetWalletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId
  const funds = { sourceWalletBizId: mainUsd, targetWalletBizId, amount: '3000.00', currency: 'USD' }
  await data(consumer('POST', '/transfer/command/create', workspace, funds))
  const member = (path: string, body: object) => consumer('POST', path, bizId, body)
  const quote = (sourceCurrency: string, targetCurrency: string, amount: string) =>
    member('/exchanges/quote', { sourceCurrency, targetCurrency, amount, fixedSide: 'SOURCE' })
  const listed = async (): Promise<Record<string, { rate: string; quoted: boolean; pending: object | null }>> => {
    const all = await data(portico.call('GET', '/web/v1/system/exchange-rates', { token: tokens.operator }))
    return Object.fromEntries(
      all.map((rate: Record<string, unknown>) => [`${rate.sourceCurrency}/${rate.targetCurrency}`, rate]),
    )
  }
  return { portico, tokens, data, rates, member, quote, listed }
}

let world: Awaited<ReturnType<typeof startRatesWorld>>

describe('one operator and a stranger', needsStore(), () => {
  beforeAll(async () => {
    world = await startRatesWorld()
  })
  afterAll(() => world?.portico.stop())

  test('exchanges.create: three rates of one operator, each within the band, gain nothing in 40 exchanges', async () => {
    const { rates, data, quote, member } = world
    for (const rate of attack) await data(rates('', rate))
    const circle = ['USD', 'EUR', 'JPY'] as const
    let amount = 1_942
    let exchanged = 0
    for (; exchanged < 39 && amount > 10; exchanged++) {
      const from = circle[exchanged % 3] ?? 'USD'
      const to = circle[(exchanged + 1) % 3] ?? 'USD'
      // The fee of a thousandth is paid in addition.
      const { quoteBizId, targetAmount } = await data(quote(from, to, (amount / 1.002).toFixed(from === 'JPY' ? 0 : 2)))
      await data(member('/exchanges', { quoteBizId }))
      amount = Number(targetAmount)
    }
    expect(exchanged).toBe(39)
    expect(amount).toBeLessThan(1_942)
  })

  test('exchanges.setRate 200: parallel changes that gain together; what is in force is quoted', async () => {
    const { rates, data, listed, tokens } = world
    // The first attack is pending. Each of these is below the costs of a cycle, and three of them are above.
    const steps = [
      { sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.9288' },
      { sourceCurrency: 'EUR', targetCurrency: 'JPY', rate: '162.26' },
      { sourceCurrency: 'USD', targetCurrency: 'JPY', rate: '147.17' },
    ]
    const by = [tokens.operator, tokens.checker]
    await Promise.all(steps.map((step, index) => data(rates('', step, by[index % 2]))))
    const after = await listed()
    const pairs = [after['USD/EUR'], after['EUR/JPY'], after['USD/JPY']]
    expect(pairs.filter((pair) => pair?.pending)).toHaveLength(1)
    expect(pairs.every((pair) => pair?.quoted)).toBe(true)
  })
})

describe('two operators who confirm rates of a cycle that gains', needsStore(), () => {
  beforeAll(async () => {
    world = await startRatesWorld()
  })
  afterAll(() => world?.portico.stop())

  const bothSet = async (rate: object) => {
    await world.data(world.rates('', rate))
    return world.rates('/confirm', rate, world.tokens.checker)
  }
  const metric = async (name: string) => {
    const text = await (await fetch(`${world.portico.operationsUrl}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  test('exchanges.quote, create 422 EXCHANGE.RATE_UNAVAILABLE: until the cycle no longer gains', async () => {
    const { data, quote, member, listed, rates } = world
    const { quoteBizId } = await data(quote('USD', 'EUR', '100.00'))
    for (const rate of attack) await data(bothSet(rate))
    for (const [from, to] of [
      ['USD', 'EUR'],
      ['EUR', 'USD'],
      ['JPY', 'EUR'],
      ['USD', 'JPY'],
    ] as const)
      expect(codeOf(await quote(from, to, '100')), `${from} to ${to}`).toEqual(unavailable)
    expect(codeOf(await member('/exchanges', { quoteBizId }))).toEqual(unavailable)
    await data(quote('BTC', 'USD', '0.01'))
    expect(await listed()).toMatchObject({
      'USD/EUR': { rate: '0.96748', quoted: false, pending: null },
      'EUR/JPY': { quoted: false },
      'USD/JPY': { quoted: false },
      'BTC/USD': { quoted: true },
    })
    expect((await rates('/unset', { sourceCurrency: 'USD', targetCurrency: 'EUR' })).status).toBe(403)
    await data(bothSet({ sourceCurrency: 'USD', targetCurrency: 'EUR', rate: '0.8339' }))
    expect((await data(member('/exchanges', { quoteBizId }))).targetAmount).toBe('91.68')
    expect((await listed())['USD/EUR']).toMatchObject({ rate: '0.8339', quoted: true })
  })

  test(
    'portico_exchange_unquoted_pairs, portico_exchange_triangle_gain: while a cycle gains',
    inTopology('embedded'),
    async () => {
      await expect.poll(() => metric('portico_exchange_unquoted_pairs'), { timeout: 20_000 }).toBe(0)
      await expect.poll(() => metric('portico_exchange_triangle_gain'), { timeout: 20_000 }).toBeLessThan(0)
      await world.data(bothSet(attack[0]))
      await expect.poll(() => metric('portico_exchange_unquoted_pairs'), { timeout: 20_000 }).toBe(3)
      expect(await metric('portico_exchange_triangle_gain')).toBeGreaterThan(0.1)
    },
  )
})
