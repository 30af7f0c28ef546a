import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfiguration } from '../../src/config/index.ts'
import { root } from '../harness/settings.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-money-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = async (money: object) => {
  const file = join(folder, 'portico.yaml')
  await writeFile(file, dump({ money }))
  return loadConfiguration({ PORTICO_CONFIG: file }, root).money
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
const recharge = (changed: object) => ({ recharge: { channels: [{ ...channel, ...changed }] } })
const rate = (changed: object) => ({ exchange: { rates: [{ source: 'USD', target: 'EUR', rate: '0.9', ...changed }] } })

test('what holds together is taken', async () => {
  const money = await load({ transferFee: { USD: '0.25' }, ...recharge({}), withdrawal: { payouts: [payout] } })
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
  await expect(load(settings(exceeds))).rejects.toThrow(/money/)
})

test.each<[string, object]>([
  ['a maximum below the minimum', recharge({ maxAmount: '9.99' })],
  ['a daily limit below the minimum', recharge({ dailyMax: '9.99' })],
  ['a fee that leaves nothing of the least amount', recharge({ fixedFee: '10.00' })],
  ['a negative fee', recharge({ fixedFee: '-0.01' })],
  ['a rate of everything', recharge({ feeRate: '1' })],
  ['a negative share', recharge({ feeRate: '-0.1' })],
  ['more decimal places than the currency has', recharge({ minAmount: '10.001' })],
  ['a number in place of a text', recharge({ minAmount: 10 })],
  ['an amount with an exponent', recharge({ maxAmount: '1e3' })],
  ['an unknown currency', recharge({ currency: 'XXX' })],
  ['a currency that is not kept', { currencies: ['EUR'], ...recharge({}) }],
  ['one currency twice', { currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', 'USD'] }],
  ['one code twice', { recharge: { channels: [channel, channel] } }],
  ['a payout twice', { withdrawal: { payouts: [payout, payout] } }],
  ['a payout by card', { withdrawal: { payouts: [{ ...payout, channelType: 'CARD' }] } }],
  ['a transfer’s fee that is no amount', { transferFee: { USD: '0.001' } }],
  ['a transfer’s fee in a currency that is not kept', { transferFee: { GBP: '1.00' } }],
  ['a limit in a currency that is not kept', { transferApprovalFrom: { GBP: '1.00' } }],
  ['a rate of nothing', rate({ rate: '0' })],
  ['a negative rate', rate({ rate: '-1' })],
  ['a rate beyond measure', rate({ rate: '9'.repeat(13) })],
  ['a rate of a currency to itself', rate({ target: 'USD' })],
  ['a spread of everything', { exchange: { spread: '1' } }],
  ['a provider without a limit of age', { exchange: { provider: { url: 'http://rates.test', refreshMs: 1_000 } } }],
  ['a provider that is no web address', { exchange: { provider: { url: 'file:///x', refreshMs: 1_000 } } }],
])('%s stops the start', async (_name, money) => {
  await expect(load(money)).rejects.toThrow(/money/)
})
