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

/** The years 1 to 9999 UTC: PostgreSQL has no year 0, and ISO 8601 years have four digits. */
const earliest = Date.parse('0001-01-01T00:00:00.000Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Parses ISO 8601 with a zone; the contract's schemas validate the form. Undefined for a missing or invalid text and outside
 * the years 1 to 9999.
 */
export const parseInstant = (text: string | undefined): Instant | undefined => {
  const milliseconds = Date.parse(text ?? '')
  return milliseconds >= earliest && milliseconds <= latest ? toInstant(milliseconds) : undefined
}

const hasSubMilliseconds = /\.\d{3}\d*[1-9]/

/**
 * The interval between two instants, both included. The database stores whole milliseconds, so a finer start is rounded up.
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

/** Whether two instants are at most this far apart in either direction, so that setting the clock back extends nothing. */
export const areWithin = (milliseconds: number, one: Instant, other: Instant): boolean =>
  Math.abs(one - other) <= milliseconds

/** A waiting time for Retry-After: whole seconds, rounded up, at least one. */
export const wholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1_000))

/** A remaining time for mails: whole minutes, rounded down, at least one. */
export const wholeMinutes = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 60_000))

/** The longest delay of a timer in milliseconds; a longer one fires immediately. */
export const maxTimerMs = 2 ** 31 - 1

export const minutes = (count: number): number => count * 60_000
export const hours = (count: number): number => count * 3_600_000
export const days = (count: number): number => count * 86_400_000
