import { toInstant } from '../kernel/index.ts'

const safeInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is no safe integer`)
  return value
}

/**
 * How values leave the store, the same for both: int8 as a number (counts and sequences), numeric as BigInt
 * (every numeric column of ours holds whole minor units), timestamptz as an Instant. Keyed by type OID.
 */
export const parsers: Record<number, (text: string) => unknown> = {
  20: safeInteger,
  1700: BigInt,
  1184: (text) => toInstant(Date.parse(text)),
}
