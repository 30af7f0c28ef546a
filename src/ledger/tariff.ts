import type { TariffSettings } from '../config/index.ts'
import { moneyOf } from '../contract/fields.ts'
import {
  add,
  compare,
  type Money,
  money,
  multiplyRoundingUp,
  parseMoney,
  parseRatio,
  type Ratio,
  Refusal,
  subtract,
} from '../kernel/index.ts'

/**
 * The configured limits and fees of a channel. Amounts are decimal strings in `currency`. `feeRate` is a fraction below
 * 1.
 */
export type { TariffSettings }

/** The parsed limits and fees of a channel. */
export interface Tariff {
  minimum: Money
  maximum: Money
  dailyMaximum: Money | null
  fixedFee: Money
  feeRate: Ratio
}

/** Parses a configured amount. Throws a RangeError if the text is not a valid amount in the currency. */
export const parseConfiguredAmount = (text: string, currency: string): Money => {
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is not an amount of ${currency}`)
  return parsed
}

/**
 * Parses the configured limits and fees of a channel. Throws a RangeError if an amount or the fee rate is invalid. The
 * process then does not start.
 */
export const parseTariff = (settings: TariffSettings): Tariff => {
  const { currency, minAmount, maxAmount, dailyMax, fixedFee, feeRate } = settings
  const share = parseRatio(feeRate)
  if (!share || share.numerator >= share.denominator) throw new RangeError(`${feeRate} is not a share below one`)
  return {
    minimum: parseConfiguredAmount(minAmount, currency),
    maximum: parseConfiguredAmount(maxAmount, currency),
    dailyMaximum: dailyMax === undefined ? null : parseConfiguredAmount(dailyMax, currency),
    fixedFee: parseConfiguredAmount(fixedFee, currency),
    feeRate: share,
  }
}

/** A requested amount, the fee of the house, and the amount minus the fee. */
export interface Charge {
  amount: Money
  fee: Money
  net: Money
}

/**
 * Computes the charge for a requested amount. Rounds the fee up to a minor unit. Throws WALLET.LIMIT_EXCEEDED if the
 * amount is outside the limits, or if the fee is not less than the amount.
 */
export const computeCharge = ({ minimum, maximum, fixedFee, feeRate }: Tariff, requested: string): Charge => {
  const { currency } = minimum
  const amount = moneyOf(requested, currency)
  if (compare(amount, minimum) < 0 || compare(amount, maximum) > 0)
    throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'below the minimum or above the maximum' })
  const fee = add(fixedFee, money(multiplyRoundingUp(amount.minor, feeRate), currency))
  const net = subtract(amount, fee)
  if (net.minor <= 0n) throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'the fee exceeds the amount' })
  return { amount, fee, net }
}

/** Returns the order data that the trigger in schema/daily-usage.ts reads. */
export const dailyUsageData = (channel: string, { dailyMaximum }: Tariff) => ({
  usageOf: channel,
  dailyMax: dailyMaximum === null ? null : dailyMaximum.minor.toString(),
})
