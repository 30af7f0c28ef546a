import { isIP } from 'node:net'
import { inspect } from 'node:util'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { days, isCurrency, isRecord, parseMoney } from '../kernel/index.ts'

/** Node's timers fire immediately above 24 days. The sum of two timeouts stays below that. */
const maxTimeoutMs = days(10)

/** The year of each expiry must have four digits. */
const maxLifetimeMs = days(36_500)

export function timeoutMs(minMs: number) {
  return z.int().min(minMs).max(maxTimeoutMs)
}

export function lifetimeMs(minMs: number) {
  return z.int().min(minMs).max(maxLifetimeMs)
}

export const positive = z.int().min(1)

export const knownCurrency = z.string().refine(isCurrency, 'a known currency')

/** Amounts as decimal strings, by currency. */
export const decimalByCurrency = z
  .record(knownCurrency, z.string())
  .refine((table) => Object.entries(table).every(([code, text]) => parseMoney(text, code) !== undefined), {
    message: 'decimal strings with no more places than their currencies have',
  })

/** A share such as a fee rate, as a decimal string. */
export const share = z
  .string()
  .regex(/^0(\.\d{1,6})?$/, 'a decimal string from 0 to below 1 with at most six decimal places')
  .meta({ examples: ['0.005'] })

export function areDistinct(keys: readonly string[]): boolean {
  return new Set(keys).size === keys.length
}

/** Returns an error for each setting in `used` whose currencies the deployment does not have. */
export function unlistedCurrencies(
  listed: readonly string[],
  used: Readonly<Record<string, readonly string[]>>,
): string[] {
  return Object.entries(used).flatMap(([setting, codes]) => {
    const unlisted = new Set(codes).difference(new Set(listed))
    return unlisted.size === 0 ? [] : [`${setting} uses currencies that are not listed: ${[...unlisted].join(', ')}`]
  })
}

/** Errors for `checkSettings` of a domain. The names of settings are relative to `money`. */
export function currencyErrors(...args: Parameters<typeof unlistedCurrencies>): string[] {
  return unlistedCurrencies(...args).map((error) => `money.currencies: ${error}`)
}

const mask = '[secret]'

/** A secret that cannot be printed accidentally. */
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

/** Masks every text, because Portico does not know an extension's secrets. */
export function maskTexts(value: unknown): unknown {
  if (typeof value === 'string') return new Secret(value)
  if (Array.isArray(value)) return value.map(maskTexts)
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskTexts(each)]))
    : value
}

/** The value at a path such as `money.exchange`. */
export function valueAt(tree: unknown, path: string): unknown {
  return path.split('.').reduce((part, key) => (isRecord(part) ? part[key] : undefined), tree)
}

export const host = z.string().refine(isHost, 'an address such as 127.0.0.1 or ::1, or a host name')

/** A name in a `Host` header, without port. An IP address is not a name. */
export const hostName = z
  .string()
  .refine((text) => isIP(text) === 0 && /^[\w-]+(\.[\w-]+)*$/.test(text), 'a host name without a port')

/** The scheme may be in upper or lower case. */
export function isHttps(text: string): boolean {
  return URL.parse(text)?.protocol === 'https:'
}

export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'a URL that begins with http:// or https://' })
  .refine(isWithoutUser, 'a URL without credentials')

/** A URL to which paths are appended. */
/** Browsers send origins in exactly this form. */
export function isOrigin(text: string): boolean {
  return URL.parse(text)?.origin === text
}

export const baseUrl = httpUrl.refine(isBare, 'a URL without a query or fragment')

export const secret = z
  .string()
  .min(1)
  .transform((text) => new Secret(text))

/** The query may contain a key. */
export const secretUrl = httpUrl.transform((text) => new Secret(text))

/** Otherwise, the appended text would change the last name or key of the URL. */
export const secretPrefix = httpUrl
  .refine((text) => /[/=]$/.test(text), 'a URL that ends with / or =')
  .transform((text) => new Secret(text))

export const cidr = z.string().refine(isRange, 'an address range such as 10.0.0.0/8')

const widestBits = { 4: 16, 6: 32 } as const

/** Malformed ranges are ignored. */
export function isWideRange(range: string): boolean {
  if (!isRange(range)) return false
  const [network, bits] = ipaddr.parseCIDR(range)
  if (network instanceof ipaddr.IPv4) return bits < widestBits[4]
  // The IPv4 addresses within IPv6 are ::ffff:0:0/96.
  return network.isIPv4MappedAddress() && bits >= 96 ? bits - 96 < widestBits[4] : bits < widestBits[6]
}

interface Interval {
  first: bigint
  last: bigint
}

/** IPv4 below multicast, except 0.0.0.0/8, and the global unicast addresses of IPv6. */
const internets: Interval[] = [
  { first: intervalOf('1.0.0.0/8').first, last: intervalOf('223.0.0.0/8').last },
  intervalOf('2000::/3'),
]

/** Malformed ranges are ignored. */
export function coverInternet(ranges: readonly string[]): boolean {
  const sorted = ranges
    .filter(isRange)
    .map(intervalOf)
    .sort((a, b) => (a.first < b.first ? -1 : 1))
  return internets.some((internet) => areCovered(internet, sorted))
}

/** Adds the fix to an error of zod, or replaces it. Without a result, the message of zod applies. */
export function explainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type' && issue.input === undefined)
    return `is missing; set it to a value of type ${issue.expected}`
  if (issue.code === 'invalid_key') return issue.issues[0]?.message
  if (issue.code !== 'unrecognized_keys') return undefined
  const names = issue.keys.map((name) => JSON.stringify(name)).join(', ')
  return issue.keys.length > 1
    ? `Unrecognized keys: ${names}; remove them or correct their names`
    : `Unrecognized key: ${names}; remove it or correct its name`
}

function isHost(text: string): boolean {
  return isIP(text) !== 0 || /^[\w.-]+$/.test(text)
}

/** Credentials would appear in logs, in metrics and in `config check`. */
function isWithoutUser(text: string): boolean {
  const url = URL.parse(text)
  return url === null || (url.username === '' && url.password === '')
}

function isBare(text: string): boolean {
  return !/[?#]/.test(text)
}

/** inet_aton would interpret `172.16/12` and `010.0.0.0/8` differently than intended. */
function isRange(text: string): boolean {
  return ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)
}

/** IPv4 is mapped to `::ffff:0:0/96`. */
function intervalOf(range: string): Interval {
  const [network, bits] = ipaddr.parseCIDR(range)
  const [address, length] =
    network instanceof ipaddr.IPv4 ? [network.toIPv4MappedAddress(), bits + 96] : [network, bits]
  const hostBits = BigInt(128 - length)
  const prefix = BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`) >> hostBits
  return { first: prefix << hostBits, last: ((prefix + 1n) << hostBits) - 1n }
}

function areCovered({ first, last }: Interval, sorted: readonly Interval[]): boolean {
  let next = first
  for (const interval of sorted) {
    if (interval.first > next) break
    if (interval.last >= next) next = interval.last + 1n
  }
  return next > last
}

export const mailDomain = z.string().regex(/^[^\s@/:.][^\s@/:]*$/, 'a mail domain, such as example.com')
