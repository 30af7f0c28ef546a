declare const kind: unique symbol
/** A business id: a UUIDv7 string (RFC 9562), branded by its kind. */
export type BizId<Kind extends string> = string & { readonly [kind]: Kind }

export type AccountId = BizId<'account'>
export type WorkspaceId = BizId<'workspace'>
export type SessionId = BizId<'session'>
export type RoleId = BizId<'role'>
export type WalletId = BizId<'wallet'>
export type OrderId = BizId<'order'>

/** Generates ids. Injected, so that tests can predict them. */
export interface Ids {
  next<Kind extends string>(): BizId<Kind>
}

/** Cryptographically secure randomness. Injected. */
export interface Randomness {
  bytes(count: number): Uint8Array
  /** Returns a uniform integer in [0, limit). */
  integer(limit: number): number
}

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Whether a text has the form of an id. Check it before a query. */
export const isBizId = (text: string): boolean => pattern.test(text)

/** Brands a text that has been validated or read from the database. */
export const bizId = <Kind extends string>(text: string): BizId<Kind> => text as BizId<Kind>

declare const instant: unique symbol
/** Epoch milliseconds; ISO 8601 UTC on the wire. */
export type Instant = number & { readonly [instant]: true }

/** The injected clock, the only source of the current time. */
export interface Clock {
  now(): Instant
}

export const toInstant = (epochMilliseconds: number): Instant => epochMilliseconds as Instant
export const addMs = (at: Instant, milliseconds: number): Instant => (at + milliseconds) as Instant
export const toIso = (at: Instant): string => new Date(at).toISOString()
export const toIsoOrNull = (at: Instant | null): string | null => (at === null ? null : toIso(at))
export const toDate = (at: Instant): Date => new Date(at)

/** The years 1 to 9999 UTC. PostgreSQL has no year 0, and years in ISO 8601 have four digits. */
const earliest = Date.parse('0001-01-01T00:00:00.000Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Parses ISO 8601 with a zone; the contract's schemas validate the form. Returns undefined for a missing or invalid
 * text, and outside the years 1 to 9999.
 */
export const parseInstant = (text: string | undefined): Instant | undefined => {
  const milliseconds = Date.parse(text ?? '')
  return milliseconds >= earliest && milliseconds <= latest ? toInstant(milliseconds) : undefined
}

const hasSubMilliseconds = /\.\d{3}\d*[1-9]/

/**
 * Returns the interval between two instants, both included. The database stores whole milliseconds, so a finer start is
 * rounded up.
 */
export const parseInterval = ({
  startTime,
  endTime,
}: {
  startTime?: string | undefined
  endTime?: string | undefined
}) => {
  const from = parseInstant(startTime)
  const isRoundedUp = from !== undefined && from < latest && hasSubMilliseconds.test(startTime ?? '')
  return { from: isRoundedUp ? addMs(from, 1) : from, to: parseInstant(endTime) }
}

/**
 * Whether two instants are at most this far apart in either direction. Setting the clock back therefore extends
 * nothing.
 */
export const areWithin = (milliseconds: number, one: Instant, other: Instant): boolean =>
  Math.abs(one - other) <= milliseconds

/** Returns a waiting time for Retry-After: whole seconds, rounded up, at least one. */
export const wholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1_000))

/** Returns a remaining time for mails: whole minutes, rounded down, at least one. */
export const wholeMinutes = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 60_000))

/** The longest delay of a timer in milliseconds; a longer one fires immediately. */
export const maxTimerMs = 2 ** 31 - 1

export const minutes = (count: number): number => count * 60_000
export const hours = (count: number): number => count * 3_600_000
export const days = (count: number): number => count * 86_400_000

/** Returns the form in which addresses are stored and compared: NFKC, trimmed, lower case. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()

/**
 * Matches one plain mailbox, without characters that could start another header, another recipient or a display name.
 */
const mailboxPattern = /^[^\s<>()[\]\\,;:"@\p{Cc}]{1,64}@[^\s<>()[\]\\,;:"@\p{Cc}]{1,253}$/u

/** Returns the address unchanged. Throws TypeError unless it is one mailbox (RFC 5321, 4.1.2, without quoted forms). */
export const parseMailbox = (address: string): string => {
  if (!mailboxPattern.test(address)) throw new TypeError('not a plain mail address')
  return address
}

/** Parses a configured sender: `name <address>` or an address. Throws TypeError for an invalid address. */
export const parseSender = (text: string): { name: string; address: string } => {
  const named = /^([^<>\p{Cc}]*)<([^<>]+)>$/u.exec(text.trim())
  return { name: named?.[1]?.trim() ?? '', address: parseMailbox(named?.[2] ?? text.trim()) }
}

/** Whether a text is a valid sender. */
export const isSender = (text: string): boolean => {
  try {
    return parseSender(text).address !== ''
  } catch {
    return false
  }
}
