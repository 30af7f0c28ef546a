import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatIdempotencyKey, parseIdempotencyKey } from '../../src/contract/header-values.ts'

describe('Idempotency-Key', () => {
  test.each([
    ['"8e03978e-40d5"', '8e03978e-40d5'],
    ['8e03978e-40d5', '8e03978e-40d5'],
    ['a/b:c=d+e==', 'a/b:c=d+e=='],
    ['"a b"', 'a b'],
    [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('%s: the quoted and the unquoted form are one key', (header, key) => {
    expect(parseIdempotencyKey(header)).toBe(key)
  })

  test.each([
    '',
    '""',
    '"',
    '"a',
    'a"',
    'a b',
    'a, b',
    '"a", "b"',
    '"a";p=1',
    'a;p=1',
    String.raw`"a\b"`,
    String.raw`a\b`,
    '"a\n"',
    '"ä"',
    'ä',
    ' a',
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
  ])('%j is malformed', (header) => {
    expect(parseIdempotencyKey(header)).toBeUndefined()
  })

  test('every key survives the quoted form', () => {
    const keys = fc.stringMatching(/^[ -~]{1,255}$/)
    const survives = fc.property(keys, (key) => {
      expect(parseIdempotencyKey(formatIdempotencyKey(key))).toBe(key)
    })
    fc.assert(survives)
  })
})
