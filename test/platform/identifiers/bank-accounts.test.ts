import fc from 'fast-check'
import { expect, it } from 'vitest'
import { canonicalBankCode, identifyBankAccount } from '../../../src/platform/identifiers/index.ts'
import { respellings } from './respellings.ts'

/** From the IBAN Registry and from Wikipedia's table of examples. */
const ibans = [
  'AD1400080001001234567890',
  'AE460090000000123456789',
  'AT483200000012345864',
  'BE71096123456769',
  'BR1500000000000010932840814P2',
  'CH5604835012345678009',
  'CR23015108410026012345',
  'DE89370400440532013000',
  'DE02120300000000202051',
  'FI1410093000123458',
  'FR7630006000011234567890189',
  'GB82WEST12345698765432',
  'GB33BUKB20201555555555',
  'IE64IRCE92050112345678',
  'IT60X0542811101000000123456',
  'MT31MALT01100000000000000000123',
  'NL02ABNA0123456789',
  'NO8330001234567',
  'SA4420000001234567891234',
  'SE7280000810340009783242',
  'VG07ABVI0000000123456789',
  'XK051212012345678906',
]

function identify(accountNumber: string, bankCode = 'COBADEFF') {
  return identifyBankAccount({ accountNumber, bankCode })
}

it.each(ibans)('identifyBankAccount: %s is an IBAN, regardless of the bank code', (iban) => {
  for (const bankCode of ['COBADEFF', 'cobadeff', 'COBADEFFXXX', 'COBA DE FF', '37040044'])
    expect(identify(iban, bankCode)).toEqual({ canonical: iban, fault: null })
})

it.each([
  ['a wrong digit', 'DE88370400440532013000'],
  ['two digits in the wrong order', 'DE89370400440532010300'],
  ['a missing digit', 'DE8937040044053201300'],
  ['another digit', 'DE893704004405320130001'],
  ['check digits above 98', 'DE99120300000000202051'],
  ['the length of another country', 'NO83300012345670'],
])('identifyBankAccount: an IBAN with %s has an invalid checksum', (_fault, number) => {
  expect(identify(number)).toMatchObject({ fault: 'invalid_checksum' })
})

it('identifyBankAccount: rejects check digits 99, which have the remainder of 02', () => {
  expect(identify('DE02120300000000202051').fault).toBeNull()
  expect(identify('DE99120300000000202051').fault).toBe('invalid_checksum')
})

it.each([
  ['0532013000', 'COBADEFF 532013000'],
  ['05-32 01.30:00', 'COBADEFF 532013000'],
  ['532013000', 'COBADEFF 532013000'],
  ['0000-0532013000', 'COBADEFF 532013000'],
  ['0000', 'COBADEFF 0'],
  ['00A12', 'COBADEFF 00A12'],
  ['us12345678', 'COBADEFF US12345678'],
  ['Konto1234', 'COBADEFF KONTO1234'],
])('identifyBankAccount: %s without an IBAN is identified with the bank', (number, canonical) => {
  expect(identify(number)).toEqual({ canonical, fault: null })
})

it('identifyBankAccount: leading zeros of a bank code of digits do not make another account', () => {
  expect(identify('12345678', '021000021')).toEqual(identify('12345678', '21 000 021'))
  expect(identify('12345678', '021000021')).not.toEqual(identify('12345678', '210000210'))
})

it.each(['IBAN DE89 3704 0044 0532 0130 00', 'iban: DE89370400440532013000', 'ＩＢＡＮ\u00a0DE89-37040044-0532013000'])(
  'identifyBankAccount: %j is the IBAN without its label',
  (number) => {
    expect(identify(number)).toEqual({ canonical: 'DE89370400440532013000', fault: null })
  },
)

it('identifyBankAccount: the checksum of an IBAN with a label is checked', () => {
  expect(identify('IBAN DE88 3704 0044 0532 0130 00').fault).toBe('invalid_checksum')
})

it.each(['0DE89370400440532013000', 'Konto DE89 3704 0044 0532 0130 00', 'XDE89370400440532013000X'])(
  'identifyBankAccount: %j hides an IBAN, which stays its identity',
  (number) => {
    expect(identify(number)).toEqual({ canonical: 'DE89370400440532013000', fault: 'invalid_format' })
  },
)

it.each(['123', '1 2-3', 'Контo1234', '--- ---'])('identifyBankAccount: %j has an invalid format', (number) => {
  expect(identify(number).fault).toBe('invalid_format')
})

it.each([
  ['COBADEFF', 'COBADEFF'],
  ['cobadeff', 'COBADEFF'],
  ['COBADEFFXXX', 'COBADEFF'],
  ['COBADEFF370', 'COBADEFF'],
  ['COBA DE FF', 'COBADEFF'],
  ['COBA\u00a0DE\u200bFF', 'COBADEFF'],
  ['ＣＯＢＡＤＥＦＦ', 'COBADEFF'],
  ['BIC COBADEFF', 'COBADEFF'],
  ['SWIFT: cobadeffxxx', 'COBADEFF'],
  ['BIC/SWIFT-Code: COBADEFF', 'COBADEFF'],
  ['BICKDEFF', 'BICKDEFF'],
  ['BIC', 'BIC'],
  ['20-00-00', '200000'],
  ['021 000 021', '021000021'],
  ['HDFC0000123', 'HDFC0000123'],
  ['-', ''],
])('canonicalBankCode: %j is %j', (text, canonical) => {
  expect(canonicalBankCode(text)).toBe(canonical)
})

it('identifyBankAccount: separators, width and case do not change the identity', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ibans).chain(respellings), (spelling) => {
      const { canonical, fault } = identify(spelling)
      expect([fault, ibans.includes(canonical)]).toEqual([null, true])
      expect(identify(canonical)).toEqual({ canonical, fault })
    }),
  )
})

/** A letter counts as two digits, so only characters of one kind have the same places. */
it('identifyBankAccount: every digit changed to another, and every letter, is noticed', () => {
  const [digits, letters] = ['0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  fc.assert(
    fc.property(fc.constantFrom(...ibans), fc.nat(), fc.nat(), (iban, at, choice) => {
      const index = 4 + (at % (iban.length - 4))
      const kind = digits.includes(iban.charAt(index)) ? digits : letters
      const changed = `${iban.slice(0, index)}${kind.charAt(choice % kind.length)}${iban.slice(index + 1)}`
      expect(identify(changed).fault).toBe(changed === iban ? null : 'invalid_checksum')
    }),
  )
})
