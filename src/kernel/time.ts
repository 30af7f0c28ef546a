declare const instant: unique symbol
/** Epoch milliseconds. ISO 8601 UTC outside. */
export type Instant = number & { readonly [instant]: true }

/** The clock is handed in; nothing else may ask the machine for the time. */
export interface Clock {
  now(): Instant
}

export const instantOf = (epochMilliseconds: number): Instant => epochMilliseconds as Instant
export const plus = (at: Instant, milliseconds: number): Instant => (at + milliseconds) as Instant
export const toIso = (at: Instant): string => new Date(at).toISOString()
export const toDate = (at: Instant): Date => new Date(at)

/** An ISO 8601 instant with a zone, as the interface takes it; undefined when it is not one. */
export const parseInstant = (text: string): Instant | undefined => {
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : (milliseconds as Instant)
}

export const minutes = (count: number): number => count * 60_000
export const hours = (count: number): number => count * 3_600_000
export const days = (count: number): number => count * 86_400_000
