import ipaddr from 'ipaddr.js'
import { z } from 'zod'

/** As inet_aton reads them, `172.16/12` and `010.0.0.0/8` are ranges too, and not those that were meant. */
const isRange = (text: string): boolean => ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)

export const cidr = z.string().refine(isRange, 'an address range such as 10.0.0.0/8')

interface Interval {
  first: bigint
  last: bigint
}

/** A range as numbers of IPv6; IPv4 stands at `::ffff:0:0/96`. */
const intervalOf = (range: string): Interval => {
  const [network, bits] = ipaddr.parseCIDR(range)
  const [address, length] =
    network instanceof ipaddr.IPv4 ? [network.toIPv4MappedAddress(), bits + 96] : [network, bits]
  const hostBits = BigInt(128 - length)
  const prefix = BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`) >> hostBits
  return { first: prefix << hostBits, last: ((prefix + 1n) << hostBits) - 1n }
}

/** What is routed on the internet: IPv4 below multicast and without 0.0.0.0/8, and the global unicast addresses of IPv6. */
const internets: Interval[] = [
  { first: intervalOf('1.0.0.0/8').first, last: intervalOf('223.0.0.0/8').last },
  intervalOf('2000::/3'),
]

const areCovered = ({ first, last }: Interval, sorted: readonly Interval[]): boolean => {
  let next = first
  for (const interval of sorted) {
    if (interval.first > next) break
    if (interval.last >= next) next = interval.last + 1n
  }
  return next > last
}

/** Whether the ranges together hold every public address of IPv4 or of IPv6. Ranges that are malformed do not count. */
export const coverInternet = (ranges: readonly string[]): boolean => {
  const sorted = ranges
    .filter(isRange)
    .map(intervalOf)
    .sort((a, b) => (a.first < b.first ? -1 : 1))
  return internets.some((internet) => areCovered(internet, sorted))
}
