import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { Secret } from './values.ts'

/** What a listener can be bound to: an address, or a name for which the machine is asked at the start. */
const isHost = (text: string): boolean => isIP(text) !== 0 || /^[\w.-]+$/.test(text)

export const host = z.string().refine(isHost, 'an address such as 127.0.0.1 or ::1, or a name that has one')

/** A user and a password in an address would show wherever the address does: in logs, metrics and `config check`. */
const isWithoutUser = (text: string): boolean => {
  const url = URL.parse(text)
  return url === null || (url.username === '' && url.password === '')
}

/** A scheme may be written in either case. */
export const isHttps = (text: string): boolean => URL.parse(text)?.protocol === 'https:'

const isBare = (text: string): boolean => !/[?#]/.test(text)

export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' })
  .refine(isWithoutUser, 'an address without a user or password in it')

/** Where a service is: paths are appended to it. */
export const baseUrl = httpUrl.refine(isBare, 'an address without a query or fragment')

/** One whose query may hold a key. */
export const secretUrl = httpUrl.transform((text) => new Secret(text))

/** One that something is appended to. To the name or the key that stands last it would make another one of it. */
export const secretPrefix = httpUrl
  .refine((text) => /[/=]$/.test(text), 'an address that ends with / or =')
  .transform((text) => new Secret(text))

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** What its library would stumble over with words of its own, or end the process by. */
const isReadable = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || !(Number(url.searchParams.get('port')) <= 65_535)) return false
  if (!url.protocol.startsWith('redis')) return true
  return decoded(`${url.username}:${url.password}`) !== undefined && /^\/?\d*$/.test(url.pathname)
}

/** PostgreSQL's library passes over what it does not know, and goes on in the clear, or falls over what it cannot use. */
const asksForTlsInVain = (text: string): boolean => {
  const asked = [...(URL.parse(text)?.searchParams ?? [])].filter(([name]) => /ssl|tls/i.test(name))
  const isHeeded = ([name, value]: [string, string]): boolean =>
    name === 'ssl' ? /^(true|1|0)$/.test(value) : /^ssl(mode|rootcert|cert|key|negotiation)$/.test(name) && value !== ''
  return text.startsWith('postgres') && asked.length > 0 && !asked.some(isHeeded)
}

const rules = [
  'a port is at most 65535',
  'an IPv6 address stands in brackets',
  'what a password holds beside letters and digits is written with %',
  'a database of Redis is a number',
].join(', ')

/** The address of a server with its credentials, which no fault repeats. */
export const serverUrl = (name: string, text: string | undefined, protocols: string[], faults: string[]) => {
  if (text === undefined) return null
  const starts = protocols.map((protocol) => `${protocol}://`)
  if (!starts.some((start) => text.startsWith(start)))
    faults.push(`${name}: must be a URL beginning with ${starts.join(' or ')}`)
  else if (!isReadable(text)) faults.push(`${name}: cannot be read: ${rules}`)
  else if (asksForTlsInVain(text))
    faults.push(`${name}: asks for TLS by a name or a value that is not heeded: ?sslmode=verify-full is`)
  return new Secret(text)
}

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
