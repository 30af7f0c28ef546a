import { toInstant } from '../kernel/index.ts'

const toSafeInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`)
  return value
}

/**
 * How values are read from both stores, by type OID: int8 as a number (counts and sequences), numeric as a BigInt (our
 * numeric columns hold whole minor units), timestamptz as an Instant.
 */
export const valueParsers: Record<number, (text: string) => unknown> = {
  20: toSafeInteger,
  1700: BigInt,
  1184: (text) => toInstant(Date.parse(text)),
}
