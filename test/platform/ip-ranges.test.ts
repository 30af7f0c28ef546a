import { expect, test } from 'vitest'
import { containsAddress, ipVersion, parseRange } from '../../src/platform/ip-ranges.ts'

test.each([
  ['192.0.2.7', '192.0.2.7', true],
  ['192.0.2.7', '192.0.2.8', false],
  ['192.0.2.0/24', '192.0.2.255', true],
  ['192.0.2.0/24', '192.0.3.0', false],
  ['192.0.2.0/24', '::ffff:192.0.2.7', true],
  ['2001:db8::1', '2001:db8::1', true],
  ['2001:db8::1', '2001:db8::2', false],
  ['2001:db8::/32', '2001:db8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['::ffff:192.0.2.7', '192.0.2.7', true],
  ['::ffff:192.0.2.7', '192.0.2.8', false],
  ['::ffff:192.0.2.0/120', '192.0.2.255', true],
  ['::ffff:192.0.2.0/120', '192.0.3.0', false],
  ['::/0', '2001:db8::1', true],
  ['::/0', '192.0.2.7', false],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['0.0.0.0/0', 'nobody', false],
  ['0.0.0.0/0', '', false],
])('%s contains %j: %s', (range, address, expected) => {
  expect(containsAddress(parseRange(range), address)).toBe(expected)
})

test('ipVersion: an IPv4-mapped range is 4; a wider IPv6 range is 6', () => {
  const versions = ['192.0.2.0/24', '::ffff:192.0.2.7', '::ffff:0:0/96', '::ffff:0:0/95', '2001:db8::/32'].map((text) =>
    ipVersion(parseRange(text)),
  )
  expect(versions).toEqual([4, 4, 4, 6, 6])
})
