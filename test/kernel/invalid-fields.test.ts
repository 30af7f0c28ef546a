import { expect, test } from 'vitest'
import { formatInvalidFields, parseInvalidFields } from '../../src/kernel/index.ts'

test('X-Portico-Fields: names that are not tokens are strings', () => {
  const fields = [
    { name: 'amount', reason: 'too_small' },
    { name: 'lines.0.walletBizId', reason: 'missing' },
    { name: '0', reason: 'unknown' },
    { name: '_x', reason: 'unknown' },
  ]
  const header = 'amount;reason=too_small, lines.0.walletBizId;reason=missing, "0";reason=unknown, "_x";reason=unknown'
  expect(formatInvalidFields(fields)).toBe(header)
  expect(parseInvalidFields(header)).toEqual(fields)
})

test('X-Portico-Fields: at most 20 fields, and no name or reason that could change the header', () => {
  const many = Array.from({ length: 30 }, (_, at) => ({ name: `f${at}`, reason: 'unknown' }))
  expect(parseInvalidFields(formatInvalidFields(many))).toHaveLength(20)
  const hostile = ['a\r\nset-cookie: x', 'a"b', 'a, b', 'é', '', 'x'.repeat(65)]
  expect(formatInvalidFields(hostile.map((name) => ({ name, reason: 'invalid' })))).toBe('')
  expect(formatInvalidFields([{ name: 'a', reason: 'b\r\nc' }])).toBe('')
})

test.each([
  '',
  'amount',
  'amount;reason=',
  'amount;reason=too_small,',
  '<b>;reason=x',
  'a;reason="x"',
  'a;reason=x;b=1',
  `${'a;reason=x, '.repeat(20)}a;reason=x`,
  `a;reason=x,${' '.repeat(5_000)}b;reason=y`,
])('X-Portico-Fields: another form is ignored', (header) => {
  expect(parseInvalidFields(header)).toEqual([])
})
