import { expect, test } from 'vitest'
import { cidr, coverInternet } from '../../src/config/values.ts'

function halves(first: string, second: string): string[] {
  return [first, second]
}
function allSlashEightExcept(excluded: number[]): string[] {
  return Array.from({ length: 256 }, (_, index) => index)
    .filter((index) => !excluded.includes(index))
    .map((index) => `${index}.0.0.0/8`)
}

test.each([
  ['all of IPv4', ['0.0.0.0/0']],
  ['all of IPv6', ['::/0']],
  ['all of IPv4 within IPv6', ['::ffff:0:0/96']],
  ['all of IPv4 among others', ['10.0.0.0/8', '0.0.0.0/0', '2001:db8::/32']],
  ['two halves of IPv4', halves('128.0.0.0/1', '0.0.0.0/1')],
  ['two halves of IPv4, one within IPv6', halves('0.0.0.0/1', '::ffff:128.0.0.0/97')],
  ['ranges that overlap', ['0.0.0.0/1', '64.0.0.0/2', '128.0.0.0/2', '160.0.0.0/3', '192.0.0.0/3']],
  ['two halves of IPv6', halves('::/1', '8000::/1')],
  ['the global unicast addresses of IPv6', halves('2000::/4', '3000::/4')],
  [
    'all except 0.0.0.0/8, multicast and reserved addresses',
    allSlashEightExcept([0, ...Array.from({ length: 32 }, (_, n) => 224 + n)]),
  ],
])('trustedProxies: %s cover the internet', (_name, ranges) => {
  expect(ranges.every((range) => cidr.safeParse(range).success)).toBe(true)
  expect(coverInternet(ranges)).toBe(true)
})

test.each([
  ['none', []],
  ['private networks', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8', '127.0.0.0/8', '::1/128']],
  ['one half of IPv4', ['0.0.0.0/1']],
  ['all of IPv4 except one range', allSlashEightExcept([8])],
  ['a half of IPv4 and one of IPv6', ['0.0.0.0/1', '8000::/1']],
  ['malformed ranges', ['0.0.0.0/33', 'everything']],
])('trustedProxies: %s do not cover the internet', (_name, ranges) => {
  expect(coverInternet(ranges)).toBe(false)
})
