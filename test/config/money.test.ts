import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigurationError } from '../../src/config/index.ts'
import { isCurrency } from '../../src/kernel/index.ts'
import { loadSettings } from '../harness/settings.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-money-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function load(money: object) {
  const file = join(folder, 'portico.yaml')
  await writeFile(file, dump({ money }, { skipInvalid: true }))
  return loadSettings({ PORTICO_CONFIG: file }).money
}

function errorsOf(money: object): Promise<string[]> {
  return load(money).then(
    () => [],
    (error: unknown) => {
      if (error instanceof ConfigurationError) return error.errors
      throw error
    },
  )
}

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
function recharge(changed: object) {
  return { recharge: { channels: [{ ...channel, ...changed }] } }
}
function rate(changed: object) {
  return { exchange: { rates: [{ source: 'USD', target: 'EUR', rate: '0.9', ...changed }] } }
}
function provider(changed: object) {
  const whole = { url: 'http://rates.test', refreshMs: 1_000, staleAfterMs: 2_000 }
  return { exchange: { provider: { ...whole, ...changed } } }
}

test('consistent money settings are accepted', async () => {
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
])('%s has its own number of decimal places (ISO 4217, List One)', async (currency, fits, exceeds) => {
  const settings = (fee: string) => ({
    currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', currency],
    transferFee: { [currency]: fee },
  })
  expect((await load(settings(fits))).transferFee).toEqual({ [currency]: fits })
  expect(await errorsOf(settings(exceeds))).toEqual([expect.stringMatching(/^money\.transferFee: /)])
})

const manyCurrencies = ['BTC', 'ETH', ...Intl.supportedValuesOf('currency').filter(isCurrency)]

test.each<[string, string, object]>([
  ['a maximum below the minimum', 'recharge.channels.0', recharge({ maxAmount: '9.99' })],
  ['a daily limit below the minimum', 'recharge.channels.0', recharge({ dailyMax: '9.99' })],
  ['a fee as high as the minimum amount', 'recharge.channels.0', recharge({ fixedFee: '10.00' })],
  [
    'two fees as high as the minimum amount together',
    'recharge.channels.0',
    recharge({ fixedFee: '9.00', feeRate: '0.1' }),
  ],
  ['a negative fee', 'recharge.channels.0', recharge({ fixedFee: '-0.01' })],
  ['a fee rate of 100 %', 'recharge.channels.0.feeRate', recharge({ feeRate: '1' })],
  ['a negative share', 'recharge.channels.0.feeRate', recharge({ feeRate: '-0.1' })],
  ['more decimal places than the currency has', 'recharge.channels.0', recharge({ minAmount: '10.001' })],
  ['a number instead of a string', 'recharge.channels.0.minAmount', recharge({ minAmount: 10 })],
  ['an amount with an exponent', 'recharge.channels.0', recharge({ maxAmount: '1e3' })],
  ['an unlisted currency of a channel', 'currencies', recharge({ currency: 'GBP' })],
  ['a duplicate currency', 'currencies', { currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', 'USD'] }],
  ['a duplicate channel code', 'recharge.channels', { recharge: { channels: [channel, channel] } }],
  ['a duplicate payout', 'withdrawal.payouts', { withdrawal: { payouts: [payout, payout] } }],
  [
    'a payout by card',
    'withdrawal.payouts.0.channelType',
    { withdrawal: { payouts: [{ ...payout, channelType: 'CARD' }] } },
  ],
  ['an invalid transfer fee', 'transferFee', { transferFee: { USD: '0.001' } }],
  ['a transfer fee in an unlisted currency', 'currencies', { transferFee: { GBP: '1.00' } }],
  ['an approval threshold in an unlisted currency', 'currencies', { transferApprovalFrom: { GBP: '1.00' } }],
  ['a sum with too many decimal places', 'stepUpAbove.amount', { stepUpAbove: { amount: '0.001' } }],
  ['a sum that is a word', 'stepUpAbove.amount', { stepUpAbove: { amount: 'none' } }],
  ['a sum in a currency without wallets', 'currencies', { stepUpAbove: { currency: 'CHF', amount: '5' } }],
  ['more currencies than the table of rates may have', 'currencies', { currencies: manyCurrencies }],
  ['an exchange rate of zero', 'exchange.rates.0.rate', rate({ rate: '0' })],
  ['a negative exchange rate', 'exchange.rates.0.rate', rate({ rate: '-1' })],
  ['an exchange rate of thirteen digits', 'exchange.rates.0.rate', rate({ rate: '9'.repeat(13) })],
  ['a rate from a currency to itself', 'exchange.rates.0', rate({ target: 'USD' })],
  ['a spread of 100 %', 'exchange.spread', { exchange: { spread: '1' } }],
  ['a provider without staleAfterMs', 'exchange.provider.staleAfterMs', provider({ staleAfterMs: undefined })],
  ['a provider whose URL is not HTTP', 'exchange.provider.url', provider({ url: 'file:///x' })],
])('%s is refused: the only error is money.%s', async (_name, setting, money) => {
  expect(await errorsOf(money)).toEqual([expect.stringMatching(new RegExp(`^money\\.${setting}: `))])
})

function pair(source: string, target: string) {
  return { source, target, rate: '0.9' }
}

test.each<[string, string, object]>([
  ['a share with seven decimal places', 'recharge.channels.0.feeRate', recharge({ feeRate: '0.0000001' })],
  ['a pair in both directions', 'exchange.rates', { exchange: { rates: [pair('USD', 'EUR'), pair('EUR', 'USD')] } }],
  ['a rate for an unlisted currency', 'currencies', { exchange: { rates: [pair('USD', 'GBP')] } }],
  ['liquidity in an unlisted currency', 'currencies', { exchange: { liquidity: { GBP: '1.00' } } }],
  ['a payout in an unlisted currency', 'currencies', { withdrawal: { payouts: [{ ...payout, currency: 'GBP' }] } }],
])('%s is refused: money.%s', async (_name, setting, money) => {
  expect(await errorsOf(money)).toEqual([expect.stringMatching(new RegExp(`^money\\.${setting}: `))])
})

test.each<[string, object]>([
  ['equal minimum, maximum and daily limit', recharge({ maxAmount: '10.00', dailyMax: '10.00' })],
  ['fees below the minimum amount', recharge({ fixedFee: '8.99', feeRate: '0.1' })],
  ['a share with six decimal places', recharge({ feeRate: '0.000001' })],
  ['payouts of two types in one currency', { withdrawal: { payouts: [payout, { ...payout, channelType: 'CRYPTO' }] } }],
])('%s: accepted', async (_name, money) => {
  expect(await errorsOf(money)).toEqual([])
})

test('liquidity of 0 overrides the profile, so that fewer currencies can be listed', async () => {
  const fewer = { currencies: ['USD', 'EUR'], recharge: { channels: [] }, withdrawal: { payouts: [] } }
  const liquidity = { JPY: '0', BHD: '0.000', BTC: '0', ETH: '0' }
  const money = await load({ ...fewer, exchange: { rates: [pair('USD', 'EUR')], liquidity } })
  expect(money.currencies).toEqual(['USD', 'EUR'])
})

test('unlisted currencies: the errors name them and the settings that use them', async () => {
  const money = { currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH'], exchange: { rates: [pair('GBP', 'CHF')] } }
  expect(await errorsOf({ ...money, transferFee: { USD: '1.00', GBP: '1.00' } })).toEqual([
    'money.currencies: transferFee uses currencies that are not listed: GBP',
    'money.currencies: exchange.rates uses currencies that are not listed: GBP, CHF',
  ])
})

test('an unknown currency: the error names the setting', async () => {
  const error = expect.stringMatching(/^money\.recharge\.channels\.0\.currency: a known currency$/)
  expect(await errorsOf(recharge({ currency: 'XXX' }))).toContainEqual(error)
})

test('money.exchange.band: a share or `off`, and the default where it is null', async () => {
  const bandOf = async (band: unknown) => (await load({ exchange: { band } })).exchange.band
  expect([await bandOf('0.1'), await bandOf('off'), await bandOf(null)]).toEqual(['0.1', 'off', '0.05'])
  for (const band of ['1.5', '-0.1', 'on', 0.05]) expect(await errorsOf({ exchange: { band } })).toHaveLength(1)
})

test('money.exchange.operatorRateTtlMs: at least a day', async () => {
  const errors = (operatorRateTtlMs: number) => errorsOf({ exchange: { operatorRateTtlMs } })
  expect([await errors(86_399_999), await errors(86_400_000)].map(({ length }) => length)).toEqual([1, 0])
})
