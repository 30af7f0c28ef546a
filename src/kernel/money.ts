import { exponentOf } from './currency.ts'
import { decimalDigits } from './decimal.ts'

/** An exact amount: `minor` units of a currency, whose exponent says how many of them make one. */
export interface Money {
  readonly minor: bigint
  readonly currency: string
}

/** The most digits that the book keeps of one amount (the ledger's columns hold less than 10^38). */
const maximumDigits = 30

export const money = (minor: bigint, currency: string): Money => ({ minor, currency })

/**
 * The amount that a decimal string names, or undefined for anything else: a sign, an exponent, a leading zero,
 * more decimal places than the currency has, or more digits than the book keeps. It never rounds.
 */
export const parseMoney = (text: string, currency: string): Money | undefined => {
  const digits = text.length <= maximumDigits + 1 ? decimalDigits(text) : undefined
  if (!digits) return undefined
  const { whole, fraction } = digits
  const exponent = exponentOf(currency)
  if (fraction.length > exponent || whole.length + exponent > maximumDigits) return undefined
  return { minor: BigInt(whole + fraction.padEnd(exponent, '0')), currency }
}

/** Whether an amount that was worked out, not parsed, is one that the book keeps. */
export const isKept = ({ minor }: Money): boolean => minor >= 0n && minor < 10n ** BigInt(maximumDigits)

/** The decimal string of the wire, always with all of the currency's decimal places. */
export const formatMoney = ({ minor, currency }: Money): string => {
  const exponent = exponentOf(currency)
  const digits = (minor < 0n ? -minor : minor).toString().padStart(exponent + 1, '0')
  const point = digits.length - exponent
  const text = exponent === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
  return minor < 0n ? `-${text}` : text
}

const sameCurrency = (a: Money, b: Money): void => {
  if (a.currency !== b.currency) throw new TypeError(`mixed currencies ${a.currency} and ${b.currency}`)
}

export const add = (a: Money, b: Money): Money => {
  sameCurrency(a, b)
  return { minor: a.minor + b.minor, currency: a.currency }
}

export const subtract = (a: Money, b: Money): Money => {
  sameCurrency(a, b)
  return { minor: a.minor - b.minor, currency: a.currency }
}

export const compare = (a: Money, b: Money): number => {
  sameCurrency(a, b)
  return a.minor < b.minor ? -1 : a.minor > b.minor ? 1 : 0
}
