import { isIP } from 'node:net'
import { inspect } from 'node:util'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { days } from '../kernel/index.ts'

/** Node's timers fire immediately if they are longer than 24 days. The sum of two timeouts stays below that. */
const maxTimeoutMs = days(10)

/** A hundred years, so that the year of an expiry has four digits. */
const maxLifetimeMs = days(36_500)

/** Returns a timeout, pause or interval in milliseconds. */
export const timeoutMs = (minMs: number) => z.int().min(minMs).max(maxTimeoutMs)

/** Returns a lifetime or retention time in milliseconds. */
export const lifetimeMs = (minMs: number) => z.int().min(minMs).max(maxLifetimeMs)

const mask = '[secret]'

/** A secret that cannot be printed by accident. Only `reveal` returns its value. */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}

/** Returns an address or host name that a listener can bind to. */
const isHost = (text: string): boolean => isIP(text) !== 0 || /^[\w.-]+$/.test(text)

export const host = z.string().refine(isHost, 'an address such as 127.0.0.1 or ::1, or a host name')

/** Whether a URL has no credentials. They would appear in logs, in metrics and in `config check`. */
const isWithoutUser = (text: string): boolean => {
  const url = URL.parse(text)
  return url === null || (url.username === '' && url.password === '')
}

/** Whether a URL uses https. The scheme can be written in upper or lower case. */
export const isHttps = (text: string): boolean => URL.parse(text)?.protocol === 'https:'

const isBare = (text: string): boolean => !/[?#]/.test(text)

export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'a URL that begins with http:// or https://' })
  .refine(isWithoutUser, 'a URL without credentials')

/** A URL that paths are appended to. */
export const baseUrl = httpUrl.refine(isBare, 'a URL without a query or fragment')

/** A URL whose query can contain a key. */
export const secretUrl = httpUrl.transform((text) => new Secret(text))

/** A URL prefix. Without the final `/` or `=`, the appended text would change the last name or key. */
export const secretPrefix = httpUrl
  .refine((text) => /[/=]$/.test(text), 'a URL that ends with / or =')
  .transform((text) => new Secret(text))

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Whether the client library can use a URL. For some URLs it throws an unclear error or ends the process. */
const isReadable = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || !(Number(url.searchParams.get('port')) <= 65_535)) return false
  if (!url.protocol.startsWith('redis')) return true
  return decoded(`${url.username}:${url.password}`) !== undefined && /^\/?\d*$/.test(url.pathname)
}

/**
 * Whether a URL has TLS parameters that have no effect. The PostgreSQL library ignores unknown parameters and connects
 * without TLS.
 */
const hasIneffectiveTls = (text: string): boolean => {
  const parameters = [...(URL.parse(text)?.searchParams ?? [])].filter(([name]) => /ssl|tls/i.test(name))
  const isEffective = ([name, value]: [string, string]): boolean =>
    name === 'ssl' ? /^(true|1|0)$/.test(value) : /^ssl(mode|rootcert|cert|key|negotiation)$/.test(name) && value !== ''
  return text.startsWith('postgres') && parameters.length > 0 && !parameters.some(isEffective)
}

const rules = [
  'ports are at most 65535',
  'IPv6 addresses are in brackets',
  'special characters in passwords are percent-encoded',
  'Redis databases are numbers',
].join(', ')

/** Returns the URL of a server with its credentials. Errors never contain it. */
export const serverUrl = (name: string, text: string | undefined, protocols: string[], errors: string[]) => {
  if (text === undefined) return null
  const starts = protocols.map((protocol) => `${protocol}://`)
  if (!starts.some((start) => text.startsWith(start)))
    errors.push(`${name}: must be a URL that begins with ${starts.join(' or ')}`)
  else if (!isReadable(text)) errors.push(`${name}: is not a valid URL: ${rules}`)
  else if (hasIneffectiveTls(text))
    errors.push(`${name}: has a TLS parameter that PostgreSQL clients ignore; use ?sslmode=verify-full`)
  return new Secret(text)
}

/** Whether a text is a range. inet_aton would read `172.16/12` and `010.0.0.0/8` as other ranges than intended. */
const isRange = (text: string): boolean => ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)

export const cidr = z.string().refine(isRange, 'an address range such as 10.0.0.0/8')

interface Interval {
  first: bigint
  last: bigint
}

/** Returns a range as two IPv6 numbers. IPv4 is mapped to `::ffff:0:0/96`. */
const intervalOf = (range: string): Interval => {
  const [network, bits] = ipaddr.parseCIDR(range)
  const [address, length] =
    network instanceof ipaddr.IPv4 ? [network.toIPv4MappedAddress(), bits + 96] : [network, bits]
  const hostBits = BigInt(128 - length)
  const prefix = BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`) >> hostBits
  return { first: prefix << hostBits, last: ((prefix + 1n) << hostBits) - 1n }
}

/** The public addresses: IPv4 below multicast and without 0.0.0.0/8, and the global unicast addresses of IPv6. */
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

/** Whether the ranges together contain every public IPv4 or every public IPv6 address. Malformed ranges are ignored. */
export const coverInternet = (ranges: readonly string[]): boolean => {
  const sorted = ranges
    .filter(isRange)
    .map(intervalOf)
    .sort((a, b) => (a.first < b.first ? -1 : 1))
  return internets.some((internet) => areCovered(internet, sorted))
}
