declare const instant: unique symbol
/** Epoch milliseconds. ISO 8601 UTC outside. */
export type Instant = number & { readonly [instant]: true }

/** The clock is handed in; nothing else may ask the machine for the time. */
export interface Clock {
  now(): Instant
}

export const toInstant = (epochMilliseconds: number): Instant => epochMilliseconds as Instant
export const addMs = (at: Instant, milliseconds: number): Instant => (at + milliseconds) as Instant
export const toIso = (at: Instant): string => new Date(at).toISOString()
export const toIsoOrNull = (at: Instant | null): string | null => (at === null ? null : toIso(at))
export const toDate = (at: Instant): Date => new Date(at)

/** The years 1 to 9999 of UTC: the store has no year 0, and ISO 8601 writes no more than four digits. */
const earliest = Date.parse('0001-01-01T00:00:00.000Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * The instant that a text names: ISO 8601 with a zone, a form that the contract's schemas see to. Undefined where there is no
 * text, where it names none, and where that is of none of those years.
 */
export const parseInstant = (text: string | undefined): Instant | undefined => {
  const milliseconds = Date.parse(text ?? '')
  return milliseconds >= earliest && milliseconds <= latest ? toInstant(milliseconds) : undefined
}

const isFiner = /\.\d{3}\d*[1-9]/

/**
 * What lies between two instants that texts name, both of them included. A store knows whole milliseconds: of one that is
 * finer, what came before it in the same millisecond is not from it on.
 */
export const parseInterval = ({
  startTime,
  endTime,
}: {
  startTime?: string | undefined
  endTime?: string | undefined
}) => {
  const from = parseInstant(startTime)
  const isWithin = from !== undefined && from < latest && isFiner.test(startTime ?? '')
  return { from: isWithin ? addMs(from, 1) : from, to: parseInstant(endTime) }
}

/** Whether two instants are no further apart than that, whichever is first: a clock that was set back prolongs nothing. */
export const areWithin = (milliseconds: number, one: Instant, other: Instant): boolean =>
  Math.abs(one - other) <= milliseconds

/** A wait as people and Retry-After are told it: whole seconds, at least one, and none too few. */
export const wholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1_000))

/** What is left, as mails tell it: whole minutes, at least one, and none too many. */
export const wholeMinutes = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 60_000))

/** Node's timers hold no more milliseconds; one that is asked for more fires at once. */
export const maxTimerMs = 2 ** 31 - 1

export const minutes = (count: number): number => count * 60_000
export const hours = (count: number): number => count * 3_600_000
export const days = (count: number): number => count * 86_400_000
