import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasInexactNumber, isExactNumber, parseStrictJson } from '../../src/kernel/index.ts'

test.each([
  ...['0', '-0', '0.0', '0e999999999999999999999', '1', '-1', '1.0', '1e2', '1E+2', '100', '100.00e-2', '0.1'],
  ...['0.30000000000000004', '9007199254740992', '9007199254740991', '-9007199254740994', '1e21', '123456789e12'],
  ...['5e-324', '1.7976931348623157e308', `1${'0'.repeat(400)}e-400`, `0.${'0'.repeat(400)}1e401`],
])('isExactNumber true: %s', (text) => expect(isExactNumber(text)).toBe(true))

test.each([
  ...['9007199254740993', '-9007199254740993', '9007199254740993.0', '9007199254740993e0', '1e400', '-1e400'],
  ...['0.1000000000000000055511151231257827', '0.10000000000000001', '1e-400', '1e999999999999999999999'],
  ...['123456789012345678901234567890', '4.9e-324', '', ' 1', '0x10', 'NaN', 'Infinity', '1.', '.5', '1e'],
])('isExactNumber false: %s', (text) => expect(isExactNumber(text)).toBe(false))

test.each([
  '[9007199254740993]',
  '{"a":1e400}',
  '-1E400',
  '9007199254740993',
  '["\\\\",0.1000000000000000055511151231257827]',
  '{"a" :\n\t9007199254740993}',
])('parseStrictJson: %s is rejected: inexact number', (text) => {
  expect(parseStrictJson(Buffer.from(text), 9)).toEqual({ ok: false, reason: 'inexact number' })
})

test.each([
  '{"a":"9007199254740993","b":":9007199254740993"}',
  '["1e400 \\" ,1e400",1e2]',
  '{"9007199254740993":1.50}',
  '"2026-11-28T08:31:35.123456789012345Z"',
  '[1, "an amount of 1e400 and 9007199254740993"]',
])('parseStrictJson: %s is accepted: digits in a text do not count', (text) => {
  expect(parseStrictJson(Buffer.from(text), 9)).toEqual({ ok: true, value: JSON.parse(text) })
})

test('hasInexactNumber: a number of 256 KB takes time in proportion to its length', () => {
  const zeros = '0'.repeat(128_000)
  expect(hasInexactNumber(`[1${zeros}1${zeros}e-256001]`)).toBe(true)
  expect(hasInexactNumber(`[${'1e400 '.repeat(3)}"`.replace('[', '["'))).toBe(false)
  expect(hasInexactNumber(`[1${zeros}${zeros}e-256000]`)).toBe(false)
})

/** The value as a fraction of integers: an independent definition. */
function fractionOf(text: string): { numerator: bigint; denominator: bigint } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const power = Number(exponent) - fraction.length
  const digits = BigInt(whole.replace('-', '') + fraction) * (text.startsWith('-') ? -1n : 1n)
  return power < 0
    ? { numerator: digits, denominator: 10n ** BigInt(-power) }
    : { numerator: digits * 10n ** BigInt(power), denominator: 1n }
}
function isUnchanged(text: string): boolean {
  const read = JSON.stringify(JSON.parse(text))
  if (read === 'null') return false
  const [one, other] = [fractionOf(text), fractionOf(read)]
  return one.numerator * other.denominator === other.numerator * one.denominator
}

function digits(minLength: number, maxLength: number) {
  return fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })
}
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits(1, 22).map((text) => text.replace(/^0*(?=.)/, '')),
    ),
    fc.option(digits(1, 22), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), digits(1, 3)), { nil: undefined }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent ? exponent.join('') : ''}`,
  )

test('parseStrictJson: rejects exactly the numbers whose value changes, anywhere in a body', () => {
  fc.assert(
    fc.property(fc.array(numberText, { minLength: 1, maxLength: 3 }), fc.string(), (numbers, text) => {
      const body = `{"t": ${JSON.stringify(text.replaceAll('\0', ''))}, "n": [${numbers.join(', ')}]}`
      const parsed = parseStrictJson(Buffer.from(body), 9)
      expect([body, parsed.ok]).toEqual([body, numbers.every(isUnchanged)])
    }),
    { numRuns: 2_000 },
  )
})

test('parseStrictJson: accepts every number that JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      const text = JSON.stringify([number])
      expect(parseStrictJson(Buffer.from(text), 9)).toEqual({ ok: true, value: JSON.parse(text) })
    }),
    { numRuns: 2_000 },
  )
})
