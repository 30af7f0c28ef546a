import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { payoutAccount } from '../harness/payout-account.ts'
import { codeOf, conflict, invalid } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const ethereum = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const tron = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'

describe('identity of payout accounts', () => {
  let world: WithdrawalsWorld
  let sandbox: string
  beforeAll(async () => {
    world = await startWithdrawalsWorld()
    const workspace = { workspaceName: 'Play', workspaceKind: 'SANDBOX' }
    sandbox = (await world.data(world.web('POST', '/workspaces', workspace))).bizId
  })
  afterAll(() => world?.portico.stop())
  const post = (changed: object, workspace?: string) =>
    world.web('POST', '/withdrawal-channels', payoutAccount(changed), { ...(workspace && { workspace }) })
  const crypto = (network: string, accountNumber: string, workspace?: string) =>
    post({ channelType: 'CRYPTO', currency: 'ETH', bankCode: undefined, network, accountNumber }, workspace)
  const outcome = async (response: ReturnType<typeof post>) => {
    const { status, headers } = await response
    return [status, headers.get('x-portico-fields')]
  }

  test('withdrawalChannels.create 409: an IBAN is one account, however its bank and it are written', async () => {
    const accountNumber = 'GB82 WEST 1234 5698 7654 32'
    expect((await post({ accountNumber, bankCode: 'COBADEFF' })).status).toBe(200)
    for (const bankCode of ['cobadeff', 'COBADEFFXXX', 'COBA DE FF', 'ＣＯＢＡＤＥＦＦ', '37040044'])
      expect(codeOf(await post({ accountNumber, bankCode }))).toEqual(conflict)
    for (const spelling of [
      'gb82west12345698765432',
      'GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032',
      '\u200bGB82-WEST-1234-5698-7654-32\ufeff',
      'ＧＢ８２ＷＥＳＴ１２３４５６９８７６５４３２',
      'IBAN: GB82 WEST 1234 5698 7654 32',
    ])
      expect(codeOf(await post({ accountNumber: spelling }))).toEqual(conflict)
    const { message } = (await post({ accountNumber })).body
    expect(message).toBe('this value conflicts with another resource: accountNumber')
  })

  test('withdrawalChannels.create 409: another number is one account per bank, by the BIC of 8', async () => {
    const accountNumber = '05 3201 3000'
    expect((await post({ accountNumber, bankCode: 'COBADEFF' })).status).toBe(200)
    for (const bankCode of ['cobadeff', 'COBADEFFXXX', 'COBA DE FF', 'COBADEFF370'])
      expect(codeOf(await post({ accountNumber: '0532\u00a0013000', bankCode }))).toEqual(conflict)
    for (const padded of ['532013000', '000 0532 013000'])
      expect(codeOf(await post({ accountNumber: padded, bankCode: 'BIC: COBADEFF' }))).toEqual(conflict)
    expect((await post({ accountNumber, bankCode: 'DEUTDEFF' })).status).toBe(200)
  })

  test('withdrawalChannels.create 409: addresses and networks are one account by their value', async () => {
    expect((await crypto('ETHEREUM', ethereum)).status).toBe(200)
    for (const network of ['ethereum', 'ERC-20', 'erc20'])
      for (const address of [ethereum, ethereum.toLowerCase(), ` ${ethereum}\u200b`])
        expect(codeOf(await crypto(network, address))).toEqual(conflict)
    const { body } = await crypto('trc-20', tron)
    expect(body.data).toMatchObject({ network: 'TRON', maskedAccount: '****Lj6t' })
    expect(codeOf(await crypto('TRC20', tron))).toEqual(conflict)
  })

  test.each([
    [
      'an IBAN with a wrong digit',
      { accountNumber: 'DE89370400440532013001' },
      'accountNumber;reason=invalid_checksum',
    ],
    ['an IBAN that is too short', { accountNumber: 'DE8937040044' }, 'accountNumber;reason=invalid_checksum'],
    ['an IBAN behind other text', { accountNumber: '0GB82WEST12345698765432' }, 'accountNumber;reason=invalid_format'],
    ['a bank code in letters of another script', { bankCode: 'C\u041eBADEFF' }, 'bankCode;reason=invalid_format'],
    ['a bank code without letters or digits', { bankCode: '---' }, 'bankCode;reason=invalid_format'],
  ])('withdrawalChannels.create 400 accountNumber, bankCode: %s', async (_name, changed, fields) => {
    expect(await outcome(post(changed))).toEqual([400, fields])
    expect(codeOf(await post(changed))).toEqual(invalid)
  })

  test.each([
    ['EIP-55', 'ETHEREUM', ethereum.replace('5aA', '5aa'), 'accountNumber;reason=invalid_checksum'],
    ['base58check', 'TRON', tron.replace('TR7', 'TR8'), 'accountNumber;reason=invalid_checksum'],
    ['Bech32', 'BITCOIN', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5', 'accountNumber;reason=invalid_checksum'],
    ['an address of another network', 'BITCOIN', ethereum, 'accountNumber;reason=invalid_format'],
    ['an unlisted network', 'CASH', tron, 'network;reason=unknown'],
  ])('withdrawalChannels.create 400 accountNumber, network: %s', async (_name, network, address, fields) => {
    expect(await outcome(crypto(network, address))).toEqual([400, fields])
  })

  test.each([
    ['BITCOIN', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 'accountNumber;reason=test_network'],
    ['BITCOIN', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', 'accountNumber;reason=test_network'],
    ['BITCOIN', '2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc', 'accountNumber;reason=test_network'],
    ['SEPOLIA', ethereum, 'network;reason=test_network'],
  ])('withdrawalChannels.create 400 in LIVE, 200 in SANDBOX: %s %s', async (network, address, fields) => {
    expect(await outcome(crypto(network, address))).toEqual([400, fields])
    expect(await outcome(crypto(network, address, sandbox))).toEqual([200, null])
  })
})
