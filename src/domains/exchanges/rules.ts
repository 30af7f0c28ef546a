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
  type Ratio,
  ratio,
} from '../../kernel/index.ts'
import type { FixedSide } from './contract.ts'

/** The configured terms of exchanges. */
export interface ExchangeTerms {
  /** The house's share of the rate. */
  spread: Ratio
  /** The fee as a share of the source amount. It is charged in addition to the amount. */
  feeRate: Ratio
  quoteLifeMs: number
}

/**
 * The rate, amounts and fee that a quote fixes. `rate` is the customer's rate in units of target per unit of source.
 */
export interface Figures {
  source: Money
  target: Money
  fee: Money
  rate: string
  fixedSide: FixedSide
}

/**
 * Number of significant digits in a displayed rate. Decimal places would show a small rate as zero. Amounts are
 * computed from the exact rate.
 */
const rateDigits = 12

const formatRate = (rate: Ratio): string =>
  formatTruncated(rate, rateDigits + (rate.denominator / rate.numerator).toString().length - 1)

/** Converts a rate between whole units to a rate between minor units. */
const toMinorUnits = (rate: Ratio, source: string, target: string): Ratio =>
  multiplyRatios(rate, ratio(10n ** BigInt(exponentOf(target)), 10n ** BigInt(exponentOf(source))))

/**
 * Computes an exchange at the mid rate. Rounding favors the house: the source amount and the fee are rounded up, the
 * target amount down. Throws VALIDATION.INVALID_PARAMETER for an amount that is too small or too large.
 */
export const computeFigures = (
  input: { sourceCurrency: string; targetCurrency: string; amount: Money; fixedSide: FixedSide },
  mid: Ratio,
  { spread, feeRate }: ExchangeTerms,
): Figures => {
  const { sourceCurrency, targetCurrency, amount, fixedSide } = input
  const rate = multiplyRatios(mid, complement(spread))
  const perMinor = toMinorUnits(rate, sourceCurrency, targetCurrency)
  const source =
    fixedSide === 'SOURCE'
      ? amount.minor
      : multiplyRoundingUp(amount.minor, ratio(perMinor.denominator, perMinor.numerator))
  const target = fixedSide === 'TARGET' ? amount.minor : multiplyRoundingDown(amount.minor, perMinor)
  if (target <= 0n) throw invalid('amount', 'less than one minor unit of the target currency')
  const figures = {
    source: money(source, sourceCurrency),
    target: money(target, targetCurrency),
    fee: money(multiplyRoundingUp(source, feeRate), sourceCurrency),
  }
  if (!Object.values(figures).every(isStorable)) throw invalid('amount', 'above the largest amount of the ledger')
  return { ...figures, rate: formatRate(rate), fixedSide }
}
