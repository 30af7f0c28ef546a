import { expect, test } from 'vitest'
import { defaultNetworks, findNetwork, networksSetting } from '../../../src/banking/withdrawal-channels/networks.ts'
import { identifyAccount } from '../../../src/banking/withdrawal-channels/rules.ts'

test.each([
  ['trc20', 'TRON'],
  ['TRC-20', 'TRON'],
  ['ＥＲＣ２０', 'ETHEREUM'],
  ['erc\u00a020', 'ETHEREUM'],
  ['Arbitrum One', 'ARBITRUM'],
  ['BNB_Smart_Chain', 'BSC'],
  ['bitcoin cash', undefined],
  ['', undefined],
])('findNetwork: %j is %s', (name, found) => {
  expect(findNetwork(defaultNetworks, name)?.names[0]).toBe(found)
})

test('money.withdrawal.networks: names are distinct in canonical form', () => {
  expect(networksSetting.parse(defaultNetworks)).toEqual(defaultNetworks)
  const named = (...names: string[]) => ({ names, addresses: [{ form: 'text' }] })
  expect(networksSetting.safeParse([named('TRC20'), named('TON')]).success).toBe(true)
  expect(networksSetting.safeParse([named('TRC20'), named('trc-20')]).success).toBe(false)
  expect(networksSetting.safeParse([named('-')]).success).toBe(false)
})

const crypto = { channelType: 'CRYPTO', currency: 'BTC', bankCode: null } as const

test('identifyAccount: a configured network has its own form', () => {
  const networks = networksSetting.parse([{ names: ['TON'], addresses: [{ form: 'text' }] }])
  const account = identifyAccount(networks, { ...crypto, network: 'ton', accountNumber: 'EQ-ab 1.2' }, 'LIVE')
  expect(account).toMatchObject({ parts: ['CRYPTO', 'BTC', 'TON', 'EQ-ab1.2'], faults: [], network: 'TON' })
})

test('identifyAccount: a stored account of an unlisted network is compared without blanks', () => {
  const stored = (network: string, accountNumber: string) =>
    identifyAccount(defaultNetworks, { ...crypto, network, accountNumber }, null).parts
  expect(stored('Cash', 'Ab12 34')).toEqual(stored('CA-SH', 'Ab1234'))
  expect(stored('Cash', 'Ab1234')).not.toEqual(stored('Cash', 'ab1234'))
})

test('identifyAccount: reports every fault', () => {
  const fields = { ...crypto, channelType: 'BANK', bankCode: '-', network: null } as const
  const { faults } = identifyAccount(defaultNetworks, { ...fields, accountNumber: 'DE00 1234' }, 'LIVE')
  expect(faults).toEqual([
    { name: 'bankCode', reason: 'invalid_format' },
    { name: 'accountNumber', reason: 'invalid_checksum' },
  ])
})

test.each(['C\u041eBADEFF', '\u0660\u0662\u0661000021', '\u4e2d\u884c'])(
  'withdrawalChannels.create 400 VALIDATION.INVALID_PARAMETER: the bank code %j looks like another one',
  (bankCode) => {
    const fields = { ...crypto, channelType: 'BANK', bankCode, network: null, accountNumber: '0532013000' } as const
    const faults = [{ name: 'bankCode', reason: 'invalid_format' }]
    expect(identifyAccount(defaultNetworks, fields, 'LIVE').faults).toEqual(faults)
  },
)

test('identifyAccount: masks the number without its bank code', () => {
  const fields = { ...crypto, channelType: 'BANK', bankCode: 'COBADEFF', network: null } as const
  expect(identifyAccount(defaultNetworks, { ...fields, accountNumber: '12-34' }, 'LIVE').masked).toBe('****4')
})
