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

export interface ExchangeTerms {
  /** Share of the rate that the house keeps. */
  spread: Ratio
  /** Share of the source amount, charged in addition to it. */
  feeRate: Ratio
  quoteLifeMs: number
}

export interface OperatorRateTerms {
  /** Lifetime of a set or proposed rate. */
  ttlMs: number
  /** Maximum deviation from the source's rate without a second operator, as a share. Null means no limit. */
  band: Ratio | null
}

/** The rate is the customer's, in units of target per unit of source. */
export interface Figures {
  source: Money
  target: Money
  fee: Money
  rate: string
  fixedSide: FixedSide
}

/**
 * Significant digits of a displayed rate. Fixed decimal places would show a small rate as zero. Amounts use the exact
 * rate.
 */
const rateDigits = 12

/** Rounding favors the house. Throws VALIDATION.INVALID_PARAMETER for an amount that is too small or too large. */
export function computeFigures(
  input: { sourceCurrency: string; targetCurrency: string; amount: Money; fixedSide: FixedSide },
  mid: Ratio,
  { spread, feeRate }: ExchangeTerms,
): Figures {
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

/** Whether a rate differs from the source's rate by at most `band` of the source's rate. */
export function isWithinBand(rate: Ratio, source: Ratio, band: Ratio): boolean {
  const difference = rate.numerator * source.denominator - source.numerator * rate.denominator
  const distance = difference < 0n ? -difference : difference
  return distance * band.denominator <= source.numerator * rate.denominator * band.numerator
}

/**
 * Returns the largest gain of exchanging through three currencies back to the first, as a share after spread and fee. A
 * negative number is a loss. Returns null unless three currencies have rates in each pair.
 */
export function maxTriangleGain(
  rates: readonly { source: string; target: string; rate: string }[],
  { spread, feeRate }: Pick<ExchangeTerms, 'spread' | 'feeRate'>,
): number | null {
  const toNumber = ({ numerator, denominator }: Ratio): number => Number(numerator) / Number(denominator)
  const kept = (1 - toNumber(spread)) / (1 + toNumber(feeRate))
  const factors = new Map<string, Map<string, number>>()
  const add = (source: string, target: string, rate: number) =>
    factors.set(source, (factors.get(source) ?? new Map<string, number>()).set(target, rate * kept))
  for (const { source, target, rate } of rates) {
    add(source, target, Number(rate))
    add(target, source, 1 / Number(rate))
  }
  let best: number | null = null
  for (const [first, fromFirst] of factors)
    for (const [second, one] of fromFirst)
      for (const [third, two] of factors.get(second) ?? []) {
        const three = factors.get(third)?.get(first)
        if (three !== undefined) best = Math.max(best ?? -1, one * two * three - 1)
      }
  return best
}

function toMinorUnits(rate: Ratio, source: string, target: string): Ratio {
  return multiplyRatios(rate, ratio(10n ** BigInt(exponentOf(target)), 10n ** BigInt(exponentOf(source))))
}

function formatRate(rate: Ratio): string {
  return formatTruncated(rate, rateDigits + (rate.denominator / rate.numerator).toString().length - 1)
}
