import { decimalDigits } from './decimal.ts'

/** An exact fraction of BigInts, its denominator above zero: rates and shares, for which floats would lie. */
export interface Ratio {
  readonly over: bigint
  readonly under: bigint
}

export const ratio = (over: bigint, under: bigint): Ratio => {
  if (under <= 0n) throw new RangeError('a ratio has a denominator above zero')
  return { over, under }
}

/** The fraction that a decimal string without sign or exponent names; undefined for anything else. */
export const parseRatio = (text: string): Ratio | undefined => {
  const digits = decimalDigits(text)
  return digits && { over: BigInt(digits.whole + digits.fraction), under: 10n ** BigInt(digits.fraction.length) }
}

/** How a rate is written; it is more than nothing besides. */
export const rateText = /^(0|[1-9]\d{0,11})(\.\d{1,12})?$/

/** Whether a text is an exchange rate: a decimal string above zero, of twelve places before the point and after it at most. */
export const isRate = (text: string): boolean => rateText.test(text) && /[1-9]/.test(text)

export const times = (a: Ratio, b: Ratio): Ratio => ({ over: a.over * b.over, under: a.under * b.under })

/** Throws for nothing, which has no inverse. */
export const inverse = ({ over, under }: Ratio): Ratio => ratio(under, over)

/** One less the share, for a share of at most one. */
export const oneLess = ({ over, under }: Ratio): Ratio => ({ over: under - over, under })

/** Of units that are not negative: what they make, rounded down. */
export const roundedDown = (units: bigint, { over, under }: Ratio): bigint => (units * over) / under

/** The same, rounded up. */
export const roundedUp = (units: bigint, { over, under }: Ratio): bigint => (units * over + under - 1n) / under

/** The decimal string cut off after so many places, without trailing zeros. */
export const cutOff = ({ over, under }: Ratio, places: number): string => {
  const digits = ((over * 10n ** BigInt(places)) / under).toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  const whole = digits.slice(0, -places)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
