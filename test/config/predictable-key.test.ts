import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { isPredictableKey } from '../../src/config/production.ts'

function bytes(byteAt: (index: number) => number): string {
  return Buffer.from(Array.from({ length: 32 }, (_, index) => byteAt(index))).toString('base64')
}
function ofText(text: string): string {
  return Buffer.from(text).toString('base64')
}

test.each([
  ['zero bytes', bytes(() => 0)],
  ['one byte, repeated', bytes(() => 0xa7)],
  ['four bytes, repeated', bytes((index) => [0xde, 0xad, 0xbe, 0xef][index % 4] ?? 0)],
  ['a random half, twice', Buffer.alloc(32, hash('sha256', 'half', 'buffer').subarray(0, 16)).toString('base64')],
  ['consecutive bytes', bytes((index) => index)],
  ['consecutive bytes in descending order', bytes((index) => 255 - index)],
  ['a sequence that wraps around', bytes((index) => (index * 37 + 11) & 0xff)],
  ['two sequences that alternate', bytes((index) => (index % 2 === 0 ? index : 200 + index))],
  ['random bytes and a tail of zeros', bytes((index) => (index < 18 ? index * index + 3 : 0))],
  ['a sentence', ofText('the quick brown fox jumps over a')],
  ['a password with digits and signs', ofText('Sup3r-S3cret_K3y!For%Portico#42$')],
  ['hexadecimal digits', ofText(hash('md5', 'anything'))],
  ['base64 of one character', 'q'.repeat(43)],
  ['base64 of a short pattern', 'changeme'.repeat(6).slice(0, 43)],
  ['base64 of hexadecimal digits', hash('sha256', 'anything').slice(0, 43)],
  ['base64 of a lower-case word and zeros', 'porticosecretkey'.padEnd(43, '0')],
])('isPredictableKey: %s is predictable', (_name, key) => {
  expect(isPredictableKey(key)).toBe(true)
  expect(isPredictableKey(`${key.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}\n`)).toBe(true)
})

test('isPredictableKey: 20,000 random keys are not', () => {
  const keys = Array.from({ length: 20_000 }, (_, index) => hash('sha256', `key ${index}`, 'base64'))
  expect(keys.filter(isPredictableKey)).toEqual([])
})
