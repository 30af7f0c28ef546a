declare const kind: unique symbol
/** A UUIDv7 string (RFC 9562). The type distinguishes the kinds of ids. */
export type BizId<Kind extends string> = string & { readonly [kind]: Kind }

export type AccountId = BizId<'account'>
export type WorkspaceId = BizId<'workspace'>
export type SessionId = BizId<'session'>
export type RoleId = BizId<'role'>
export type WalletId = BizId<'wallet'>
export type OrderId = BizId<'order'>

/** Injected, so that tests can predict the ids. */
export interface Ids {
  next<Kind extends string>(): BizId<Kind>
}

/** Cryptographically secure random values. */
export interface Randomness {
  bytes(count: number): Uint8Array
  /** Returns a uniformly distributed integer in [0, limit). */
  integer(limit: number): number
}

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Check this before a query. */
export function isBizId(text: string): boolean {
  return pattern.test(text)
}

/** Converts a text that was validated or read from the database. */
export function bizId<Kind extends string>(text: string): BizId<Kind> {
  return text as BizId<Kind>
}

declare const instant: unique symbol
/** A time in epoch milliseconds, sent as ISO 8601 in UTC. */
export type Instant = number & { readonly [instant]: true }

/** The only source of the current time. */
export interface Clock {
  now(): Instant
}

/** The only source of durations behind the portal: monotonic time and timers. */
export interface Durations {
  /** Milliseconds from an arbitrary start. */
  now(): number
  /** Calls `task` once. */
  after(milliseconds: number, task: () => void): Timer
  every(milliseconds: number, task: () => void): Timer
}

/** The part of a Node.js timer that is used. */
export interface Timer {
  /** Stops the timer. */
  close(): unknown
  /** Starts the time again. */
  refresh(): unknown
  /** Lets the process exit earlier. */
  unref(): unknown
}

/** Converts epoch milliseconds. */
export function toInstant(epochMilliseconds: number): Instant {
  return epochMilliseconds as Instant
}
export function addMs(at: Instant, milliseconds: number): Instant {
  return (at + milliseconds) as Instant
}
export function toIso(at: Instant): string {
  return new Date(at).toISOString()
}
/** `toIso`, but null for null. */
export function toIsoOrNull(at: Instant | null): string | null {
  return at === null ? null : toIso(at)
}
/** For columns of the database. */
export function toDate(at: Instant): Date {
  return new Date(at)
}

/** PostgreSQL has no year 0, and years in ISO 8601 have four digits. */
const earliest = Date.parse('0001-01-01T00:00:00.000Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/** Returns undefined for a missing or invalid text, or a time outside the years 1 to 9999. */
export function parseInstant(text: string | undefined): Instant | undefined {
  const milliseconds = Date.parse(text ?? '')
  return milliseconds >= earliest && milliseconds <= latest ? toInstant(milliseconds) : undefined
}

const hasSubMilliseconds = /\.\d{3}\d*[1-9]/

/** Both ends are inclusive. The database stores whole milliseconds, so the start is rounded up. */
export function parseInterval({
  startTime,
  endTime,
}: {
  startTime?: string | undefined
  endTime?: string | undefined
}) {
  const from = parseInstant(startTime)
  const isRoundedUp = from !== undefined && from < latest && hasSubMilliseconds.test(startTime ?? '')
  return { from: isRoundedUp ? addMs(from, 1) : from, to: parseInstant(endTime) }
}

/** Setting the clock back must not extend a time limit. */
export function areWithin(milliseconds: number, one: Instant, other: Instant): boolean {
  return Math.abs(one - other) <= milliseconds
}

/** For Retry-After: rounds up, at least one. */
export function wholeSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1_000))
}

/** For emails: rounds down, at least one. */
export function wholeMinutes(milliseconds: number): number {
  return Math.max(1, Math.floor(milliseconds / 60_000))
}

/** Timers with a longer delay fire immediately. */
export const maxTimerMs = 2 ** 31 - 1

/** In milliseconds. */
export function minutes(count: number): number {
  return count * 60_000
}
/** In milliseconds. */
export function hours(count: number): number {
  return count * 3_600_000
}
/** In milliseconds. */
export function days(count: number): number {
  return count * 86_400_000
}

export function canonicalEmail(email: string): string {
  return unquoted(withAsciiDomain(email.normalize('NFKC').trim())).toLowerCase()
}

/**
 * A local part with two dots in a row, or a dot at an end. Japanese carriers assigned such addresses, which RFC 5321
 * allows only in quotes.
 */
const irregularLocalPart = /^(?=\.|[^@]*\.[.@])[^"@]+(?=@)/

/** An address is stored and compared without the quotes of an irregular local part. nodemailer adds them to a mail. */
export function unquoted(address: string): string {
  const plain = address.replace(/^"([^"@\\]*)"(?=@)/, '$1')
  return irregularLocalPart.test(plain) ? plain : address
}

/** Whether the address is regular, or irregular at one of the carriers. */
export function isAcceptedMailbox(email: string, carrierDomains: readonly string[]): boolean {
  return !irregularLocalPart.test(email) || isInDomains(email, carrierDomains)
}

/** A domain with letters outside ASCII, and without characters that have a meaning in a URL. */
const internationalDomain = /^(?=.*\P{ASCII})[\p{L}\p{M}\p{N}.\u3002-]+$/u

/** Converts an internationalized domain to Punycode (RFC 5891). Keeps any other address. */
export function withAsciiDomain(address: string): string {
  const start = address.lastIndexOf('@') + 1
  const domain = address.slice(start)
  if (start === 0 || !internationalDomain.test(domain)) return address
  return `${address.slice(0, start)}${URL.parse(`http://${domain}`)?.hostname ?? domain}`
}

/** Blanks, hyphens and invisible characters in a typed code. */
const codeFiller = /[\s\p{Pd}\u2212\p{Default_Ignorable_Code_Point}]/gu

/** People group the digits of a code, paste it with blanks, and type it in full width. */
export function canonicalCode(typed: string): string {
  return typed.normalize('NFKC').replace(codeFiller, '').toUpperCase()
}

export function isInDomains(email: string, domains: readonly string[]): boolean {
  const name = toDnsName(canonicalEmail(email).split('@').at(-1) ?? '')
  return domains.map(toDnsName).some((domain) => name === domain || name.endsWith(`.${domain}`))
}

/** The number and the hexadecimal hash of an audit entry, as `sequence:hash`. */
export const auditHeadPattern = /^(0|[1-9]\d{0,14}):([0-9a-f]{64})$/

/** One plain mailbox, without characters that could start another header, recipient or display name. */
const mailboxPattern = /^[^\s<>()[\]\\,;:"@\p{Cc}]{1,64}@[^\s<>()[\]\\,;:"@\p{Cc}]{1,253}$/u

/** Throws a TypeError unless the address is one mailbox (RFC 5321, 4.1.2, without quoted forms). */
export function parseMailbox(address: string): string {
  if (!mailboxPattern.test(address)) throw new TypeError('not a plain mail address')
  return address
}

/** Parses a configured sender: `name <address>` or an address. Throws a TypeError for an invalid address. */
export function parseSender(text: string): { name: string; address: string } {
  const named = /^([^<>\p{Cc}]*)<([^<>]+)>$/u.exec(text.trim())
  return { name: named?.[1]?.trim() ?? '', address: parseMailbox(named?.[2] ?? text.trim()) }
}

export function isSender(text: string): boolean {
  try {
    return parseSender(text).address !== ''
  } catch {
    return false
  }
}

/** As DNS compares names: Punycode in lower case without a trailing dot. */
function toDnsName(domain: string): string {
  return (URL.parse(`http://${domain}`)?.hostname ?? domain.toLowerCase()).replace(/\.$/, '')
}
