import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  add,
  compare,
  complement,
  exponentOf,
  formatMoney,
  formatTruncated,
  invert,
  isRate,
  isStorable,
  money,
  multiplyRatios,
  multiplyRoundingDown,
  multiplyRoundingUp,
  parseMoney,
  parseRatio,
  ratio,
  subtract,
} from '../../src/kernel/index.ts'

function minorOf(text: string, currency: string) {
  return parseMoney(text, currency)?.minor
}

describe('Money', () => {
  test.each([
    ['0', 'USD', 0n],
    ['0.5', 'USD', 50n],
    ['12.34', 'USD', 1_234n],
    ['12', 'JPY', 12n],
    ['0.000000000000000001', 'ETH', 1n],
    ['9'.repeat(30), 'JPY', 10n ** 30n - 1n],
    [`${'9'.repeat(28)}.99`, 'USD', 10n ** 30n - 1n],
  ])('parseMoney: %s %s is exact', (text, currency, minor) => {
    expect(minorOf(text, currency)).toBe(minor)
  })

  test.each([
    ['00', 'USD'],
    ['01', 'JPY'],
    ['1.001', 'USD'],
    ['1.0', 'JPY'],
    ['-1', 'USD'],
    ['1.', 'USD'],
    ['9'.repeat(31), 'JPY'],
    ['1'.padEnd(29, '0'), 'USD'],
    [`${'0'.repeat(40)}1`, 'JPY'],
  ])('parseMoney: %s %s is invalid', (text, currency) => {
    expect(parseMoney(text, currency)).toBeUndefined()
  })

  test.each(['JPY', 'USD', 'BHD', 'ETH'])(
    'formatMoney: %s is written with all decimal places, and parses to the same amount',
    (currency) => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n - 1n }), (minor) => {
          const text = formatMoney(money(minor, currency))
          expect(minorOf(text, currency)).toBe(minor)
          expect(text.split('.')[1]?.length ?? 0).toBe(exponentOf(currency))
          expect(formatMoney(money(-minor, currency))).toBe(minor === 0n ? text : `-${text}`)
        }),
      )
    },
  )

  test.each([
    [-1n, false],
    [0n, true],
    [10n ** 30n - 1n, true],
    [10n ** 30n, false],
  ])('isStorable: %d minor units: %s', (minor, expected) => {
    expect(isStorable(money(minor, 'USD'))).toBe(expected)
  })

  test('add, subtract and compare reject two currencies', () => {
    const [two, three, yen] = [money(2n, 'USD'), money(3n, 'USD'), money(3n, 'JPY')]
    expect([add(two, three), subtract(two, three)]).toEqual([money(5n, 'USD'), money(-1n, 'USD')])
    expect([compare(two, three), compare(three, two), compare(two, two)]).toEqual([-1, 1, 0])
    for (const calculate of [add, subtract, compare]) expect(() => calculate(two, yen)).toThrow('USD and JPY')
  })
})

describe('Ratio', () => {
  test('parseRatio, multiplyRatios, complement and invert are exact', () => {
    expect(parseRatio('0.0250')).toEqual({ numerator: 250n, denominator: 10_000n })
    expect(parseRatio('12')).toEqual({ numerator: 12n, denominator: 1n })
    for (const text of ['', '01', '-1', '1e3', '.5', '1.']) expect(parseRatio(text)).toBeUndefined()
    expect(multiplyRatios(ratio(2n, 3n), ratio(5n, 7n))).toEqual({ numerator: 10n, denominator: 21n })
    expect(complement(ratio(3n, 1_000n))).toEqual({ numerator: 997n, denominator: 1_000n })
    expect(invert(ratio(2n, 3n))).toEqual({ numerator: 3n, denominator: 2n })
  })

  test('a denominator of zero or less is rejected', () => {
    expect(() => ratio(1n, 0n)).toThrow(RangeError)
    expect(() => ratio(1n, -1n)).toThrow(RangeError)
    expect(() => invert(ratio(0n, 5n))).toThrow(RangeError)
  })

  test('multiplyRoundingDown and multiplyRoundingUp return the neighboring integers', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 10n ** 20n),
        fc.bigInt(0n, 10n ** 20n),
        fc.bigInt(1n, 10n ** 20n),
        (units, numerator, denominator) => {
          const [down, up] = [
            multiplyRoundingDown(units, ratio(numerator, denominator)),
            multiplyRoundingUp(units, ratio(numerator, denominator)),
          ]
          expect(down * denominator <= units * numerator && units * numerator < (down + 1n) * denominator).toBe(true)
          expect(up).toBe((units * numerator) % denominator === 0n ? down : down + 1n)
        },
      ),
    )
  })

  test.each([
    [ratio(2n, 3n), 4, '0.6666'],
    [ratio(1n, 2_000n), 3, '0'],
    [ratio(1n, 1_000n), 3, '0.001'],
    [ratio(25n, 10n), 6, '2.5'],
    [ratio(30n, 1n), 2, '30'],
    [ratio(123n, 100n), 1, '1.2'],
  ])('formatTruncated: %o to %i places is %s', (value, places, text) => {
    expect(formatTruncated(value, places)).toBe(text)
  })
})

test.each([
  ['999999999999', true],
  ['1000000000000', false],
  ['0.000000000001', true],
  ['0.0000000000001', false],
  ['0', false],
  ['0.00', false],
  ['00.1', false],
])('isRate(%s): %s', (text, expected) => {
  expect(isRate(text)).toBe(expected)
})
