import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AddressForm, identifyAddress } from '../../../src/platform/identifiers/index.ts'
import { respellings } from './respellings.ts'

const eip55: AddressForm = { form: 'eip55' }
const segwit: AddressForm = { form: 'segwit', prefixes: ['bc'], testPrefixes: ['tb', 'bcrt'] }
const bitcoin: AddressForm[] = [{ form: 'base58check', versions: [0, 5], testVersions: [111, 196] }, segwit]
const tron: AddressForm = { form: 'base58check', versions: [65], testVersions: [] }

describe('eip55', () => {
  /** The vectors of EIP-55. */
  const mixed = [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ]
  const oneCase = [
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
    '0xde709f2102306220921060314715629080e2fb77',
    '0x27b1fdb04752bbc536007a920d24acb045561c26',
  ]

  it.each([...mixed, ...oneCase])('identifyAddress: %s is valid, also in one case and without 0x', (address) => {
    const canonical = address.toLowerCase()
    const digits = address.slice(2)
    for (const spelling of [address, canonical, digits, `0x${digits.toUpperCase()}`, `0X${digits}`])
      expect(identifyAddress(spelling, [eip55])).toEqual({ canonical, fault: null })
  })

  it.each(mixed)('identifyAddress: %s with one letter in the other case has an invalid checksum', (address) => {
    const at = address.search(/[A-F]/)
    const changed = `${address.slice(0, at)}${address.charAt(at).toLowerCase()}${address.slice(at + 1)}`
    expect(identifyAddress(changed, [eip55])).toEqual({
      canonical: address.toLowerCase(),
      fault: 'invalid_checksum',
    })
  })

  it.each(['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe', '0x', '', '0xg2908400098527886E0F7030069857D2E4169EE7'])(
    'identifyAddress: %j is not an address',
    (text) => {
      expect(identifyAddress(text, [eip55]).fault).toBe('invalid_format')
    },
  )
})

describe('base58check', () => {
  it.each([
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
    '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
    '17VZNX1SN5NtKa8UQFxwQbFeFc3iqRYhem',
  ])('identifyAddress: %s is valid', (address) => {
    expect(identifyAddress(address, bitcoin)).toEqual({ canonical: address, fault: null })
  })

  it.each(['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', '2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc'])(
    'identifyAddress: %s is of a test network',
    (address) => {
      expect(identifyAddress(address, bitcoin)).toEqual({ canonical: address, fault: null, isTest: true })
    },
  )

  it.each([
    ['a changed letter', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb', 'invalid_checksum'],
    ['lower case', '1a1zp1ep5qgefi2dmptftl5slmv7divfna', 'invalid_format'],
    ['another network', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'invalid_format'],
  ])('identifyAddress: an address with %s is invalid', (_fault, address, fault) => {
    expect(identifyAddress(address, bitcoin).fault).toBe(fault)
  })

  it('identifyAddress: the version of TRON is 65', () => {
    const address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'
    expect(identifyAddress(address, [tron])).toEqual({ canonical: address, fault: null })
    expect(identifyAddress('1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', [tron]).fault).toBe('invalid_format')
  })
})

describe('segwit', () => {
  /** The vectors of BIP 173 and BIP 350. */
  it.each([
    ['BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', undefined],
    ['tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7', true],
    ['bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y', undefined],
    ['BC1SW50QGDZ25J', undefined],
    ['bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs', undefined],
    ['tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c', true],
    ['bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0', undefined],
  ])('identifyAddress: %s is valid', (address, isTest) => {
    const found = identifyAddress(address, [segwit])
    expect([found.canonical, found.fault, found.isTest]).toEqual([address.toLowerCase(), null, isTest])
  })

  it.each([
    'tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5',
    'BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2',
    'bc1rw5uspcuh',
    'bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90',
    'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P',
    'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sL5k7',
    'tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf',
    'BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh',
    'tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47',
    'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    'bc1pw5dgrnzv',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav',
    'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf',
    'bc1gmk9yu',
  ])('identifyAddress: %s is invalid', (address) => {
    expect(identifyAddress(address, [segwit]).fault).not.toBeNull()
  })
})

it('identifyAddress: other forms are hex, base58, Bech32 without a limit, and text', () => {
  const cosmos: AddressForm = { form: 'bech32', prefixes: ['cosmos'], testPrefixes: [] }
  const address = 'cosmos1depk54cuajgkzea6zpgkq36tnjwdzv4afc3d27'
  expect(identifyAddress(address.toUpperCase(), [cosmos])).toEqual({ canonical: address, fault: null })
  expect(identifyAddress(`${address.slice(0, -1)}8`, [cosmos]).fault).toBe('invalid_checksum')
  const solana = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
  expect(identifyAddress(solana, [{ form: 'base58', bytes: 32 }])).toEqual({ canonical: solana, fault: null })
  expect(identifyAddress(solana, [{ form: 'base58', bytes: 20 }]).fault).toBe('invalid_format')
  expect(identifyAddress('0XAB 12', [{ form: 'hex', bytes: 2 }])).toEqual({ canonical: '0xab12', fault: null })
  expect(identifyAddress(' Ab.1\u200b-2 3', [{ form: 'text' }])).toEqual({ canonical: 'Ab.1-23', fault: null })
})

it('identifyAddress: separators and width do not change the identity', () => {
  const addresses = [
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  ]
  const forms = [...bitcoin, eip55]
  fc.assert(
    fc.property(
      fc
        .constantFrom(...addresses)
        .chain((address) => respellings(address, { isCaseSensitive: true }).map((spelling) => ({ address, spelling }))),
      ({ address, spelling }) => {
        const found = identifyAddress(spelling, forms)
        expect(found).toEqual(identifyAddress(address, forms))
        expect([found.fault, identifyAddress(found.canonical, forms)]).toEqual([null, found])
      },
    ),
  )
})
