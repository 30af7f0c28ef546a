import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-money-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = async (money: object) => {
  const file = join(folder, 'portico.yaml')
  await writeFile(file, dump({ money }, { skipInvalid: true }))
  return loadConfiguration({ PORTICO_CONFIG: file }).money
}

const faultsOf = (money: object): Promise<string[]> =>
  load(money).then(
    () => [],
    (error: unknown) => {
      if (error instanceof ConfigurationError) return error.errors
      throw error
    },
  )

const channel = {
  channelCode: 'BANK_USD',
  channelName: 'Bank',
  channelType: 'BANK',
  currency: 'USD',
  minAmount: '10.00',
  maxAmount: '100.00',
  dailyMax: '250.00',
  fixedFee: '0.30',
  feeRate: '0.029',
  proofRequired: true,
  enabled: true,
}
const { channelCode: _, channelName: __, proofRequired: ___, enabled: ____, ...payout } = channel
const recharge = (changed: object) => ({ recharge: { channels: [{ ...channel, ...changed }] } })
const rate = (changed: object) => ({ exchange: { rates: [{ source: 'USD', target: 'EUR', rate: '0.9', ...changed }] } })
const provider = (changed: object) => {
  const whole = { url: 'http://rates.test', refreshMs: 1_000, staleAfterMs: 2_000, timeoutMs: 500 }
  return { exchange: { provider: { ...whole, ...changed } } }
}

test('what holds together is taken', async () => {
  const money = await load({
    transferFee: { USD: '0.25' },
    ...recharge({}),
    withdrawal: { payouts: [payout] },
    ...provider({}),
  })
  expect(money.transferFee).toEqual({ USD: '0.25' })
  expect(money.recharge.channels).toEqual([channel])
})

test.each([
  ['XCG', '0.25', '0.255'],
  ['CLF', '0.0025', '0.00255'],
  ['UYW', '0.0025', '0.00255'],
])('%s is a currency with its own places (ISO 4217, List One)', async (currency, fits, exceeds) => {
  const settings = (fee: string) => ({
    currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', currency],
    transferFee: { [currency]: fee },
  })
  expect((await load(settings(fits))).transferFee).toEqual({ [currency]: fits })
  expect(await faultsOf(settings(exceeds))).toEqual([expect.stringMatching(/^money\.transferFee: /)])
})

test.each<[string, string, object]>([
  ['a maximum below the minimum', 'recharge.channels.0', recharge({ maxAmount: '9.99' })],
  ['a daily limit below the minimum', 'recharge.channels.0', recharge({ dailyMax: '9.99' })],
  ['a fee that leaves nothing of the least amount', 'recharge.channels.0', recharge({ fixedFee: '10.00' })],
  ['two fees that leave nothing of it', 'recharge.channels.0', recharge({ fixedFee: '9.00', feeRate: '0.1' })],
  ['a negative fee', 'recharge.channels.0', recharge({ fixedFee: '-0.01' })],
  ['a rate of everything', 'recharge.channels.0.feeRate', recharge({ feeRate: '1' })],
  ['a negative share', 'recharge.channels.0.feeRate', recharge({ feeRate: '-0.1' })],
  ['more decimal places than the currency has', 'recharge.channels.0', recharge({ minAmount: '10.001' })],
  ['a number in place of a text', 'recharge.channels.0.minAmount', recharge({ minAmount: 10 })],
  ['an amount with an exponent', 'recharge.channels.0', recharge({ maxAmount: '1e3' })],
  ['a currency that is not kept', 'currencies', recharge({ currency: 'GBP' })],
  ['one currency twice', 'currencies', { currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', 'USD'] }],
  ['one code twice', 'recharge.channels', { recharge: { channels: [channel, channel] } }],
  ['a payout twice', 'withdrawal.payouts', { withdrawal: { payouts: [payout, payout] } }],
  [
    'a payout by card',
    'withdrawal.payouts.0.channelType',
    { withdrawal: { payouts: [{ ...payout, channelType: 'CARD' }] } },
  ],
  ['a transfer’s fee that is no amount', 'transferFee', { transferFee: { USD: '0.001' } }],
  ['a transfer’s fee in a currency that is not kept', 'currencies', { transferFee: { GBP: '1.00' } }],
  ['a limit in a currency that is not kept', 'currencies', { transferApprovalFrom: { GBP: '1.00' } }],
  ['a rate of nothing', 'exchange.rates.0.rate', rate({ rate: '0' })],
  ['a negative rate', 'exchange.rates.0.rate', rate({ rate: '-1' })],
  ['a rate beyond measure', 'exchange.rates.0.rate', rate({ rate: '9'.repeat(13) })],
  ['a rate of a currency to itself', 'exchange.rates.0', rate({ target: 'USD' })],
  ['a spread of everything', 'exchange.spread', { exchange: { spread: '1' } }],
  ['a provider without a limit of age', 'exchange.provider.staleAfterMs', provider({ staleAfterMs: undefined })],
  ['a provider that is no web address', 'exchange.provider.url', provider({ url: 'file:///x' })],
])('%s stops the start, and is the one fault of money.%s', async (_name, setting, money) => {
  expect(await faultsOf(money)).toEqual([expect.stringMatching(new RegExp(`^money\\.${setting}: `))])
})

const pair = (source: string, target: string) => ({ source, target, rate: '0.9' })

test.each<[string, string, object]>([
  ['a share of seven places', 'recharge.channels.0.feeRate', recharge({ feeRate: '0.0000001' })],
  ['a pair in both directions', 'exchange.rates', { exchange: { rates: [pair('USD', 'EUR'), pair('EUR', 'USD')] } }],
  ['a rate of a currency that is not kept', 'currencies', { exchange: { rates: [pair('USD', 'GBP')] } }],
  ['liquidity in one that is not kept', 'currencies', { exchange: { liquidity: { GBP: '1.00' } } }],
  ['a payout in one that is not kept', 'currencies', { withdrawal: { payouts: [{ ...payout, currency: 'GBP' }] } }],
])('%s stops the start, by money.%s', async (_name, setting, money) => {
  expect(await faultsOf(money)).toEqual([expect.stringMatching(new RegExp(`^money\\.${setting}: `))])
})

test.each<[string, object]>([
  ['one amount alone, as often as once a day', recharge({ maxAmount: '10.00', dailyMax: '10.00' })],
  ['fees that leave something of the least amount', recharge({ fixedFee: '8.99', feeRate: '0.1' })],
  ['a share of six places', recharge({ feeRate: '0.000001' })],
  ['payouts of two types in one currency', { withdrawal: { payouts: [payout, { ...payout, channelType: 'CRYPTO' }] } }],
])('%s is taken', async (_name, money) => {
  expect(await faultsOf(money)).toEqual([])
})

test('a developer keeps fewer currencies than the profile’s file has liquidity in, by saying that there is none of the others', async () => {
  const fewer = { currencies: ['USD', 'EUR'], recharge: { channels: [] }, withdrawal: { payouts: [] } }
  const liquidity = { JPY: '0', BHD: '0.000', BTC: '0', ETH: '0' }
  const taken = await load({ ...fewer, exchange: { rates: [pair('USD', 'EUR')], liquidity } })
  expect(taken.currencies).toEqual(['USD', 'EUR'])
})

test('currencies that are not kept are named, with what speaks of them', async () => {
  const money = { currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH'], exchange: { rates: [pair('GBP', 'CHF')] } }
  expect(await faultsOf({ ...money, transferFee: { USD: '1.00', GBP: '1.00' } })).toEqual([
    'money.currencies: transferFee uses currencies that are not listed: GBP',
    'money.currencies: exchange.rates uses currencies that are not listed: GBP, CHF',
  ])
})

test('an unknown currency stops the start, and is named where it stands', async () => {
  const named = expect.stringMatching(/^money\.recharge\.channels\.0\.currency: a known currency$/)
  expect(await faultsOf(recharge({ currency: 'XXX' }))).toContainEqual(named)
})
