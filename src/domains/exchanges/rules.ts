import {
  complement,
  exponentOf,
  formatTruncated,
  invalid,
  isStorable,
  type Money,
  money,
  multiplyRatios,
  multiplyRoundingDown,
  multiplyRoundingUp,
  parseMoney,
  type Ratio,
  ratio,
} from '../../kernel/index.ts'
import type { FixedSide } from './contract.ts'

export interface ExchangeTerms {
  /** What the house keeps of the rate, and of the source amount beside. */
  spread: Ratio
  feeRate: Ratio
  quoteLifeMs: number
}

/** What a quote fixes. The rate is the customer's: units of target for one of source. */
export interface Figures {
  source: Money
  target: Money
  fee: Money
  rate: string
  fixedSide: FixedSide
}

/**
 * As many places as a rate is shown with from its first digit on, so that a small one is never told as nothing; the
 * figures themselves are worked out exactly.
 */
const ratePlaces = 12

const told = (rate: Ratio): string =>
  formatTruncated(rate, ratePlaces + (rate.denominator / rate.numerator).toString().length - 1)

/** A rate of whole units as one of minor units: the currencies' decimal places differ. */
const ofMinorUnits = (rate: Ratio, source: string, target: string): Ratio =>
  multiplyRatios(rate, ratio(10n ** BigInt(exponentOf(target)), 10n ** BigInt(exponentOf(source))))

/**
 * The figures of an exchange at the middle rate `mid`. What the customer gives is rounded up, what they get down, the
 * fee up: whatever rounding leaves stays with the house, in postings.
 */
export const figuresOf = (
  asked: { sourceCurrency: string; targetCurrency: string; amount: string; fixedSide: FixedSide },
  mid: Ratio,
  { spread, feeRate }: ExchangeTerms,
): Figures => {
  const { sourceCurrency, targetCurrency, fixedSide } = asked
  const rate = multiplyRatios(mid, complement(spread))
  const perMinor = ofMinorUnits(rate, sourceCurrency, targetCurrency)
  const fixed = parseMoney(asked.amount, fixedSide === 'SOURCE' ? sourceCurrency : targetCurrency)
  if (!fixed) throw invalid('amount')
  const source =
    fixedSide === 'SOURCE'
      ? fixed.minor
      : multiplyRoundingUp(fixed.minor, ratio(perMinor.denominator, perMinor.numerator))
  const target = fixedSide === 'TARGET' ? fixed.minor : multiplyRoundingDown(fixed.minor, perMinor)
  if (target <= 0n) throw invalid('amount', 'too little to make one unit of the other currency')
  const figures = {
    source: money(source, sourceCurrency),
    target: money(target, targetCurrency),
    fee: money(multiplyRoundingUp(source, feeRate), sourceCurrency),
  }
  if (!Object.values(figures).every(isStorable)) throw invalid('amount', 'more than the book keeps of one amount')
  return {
    ...figures,
    rate: told(rate),
    fixedSide,
  }
}
