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

/** The limits and fees of a channel as configured: decimal strings in `currency`. The rate is a share below one. */
export type { TariffSettings }

/** The parsed limits and fees of a channel. */
export interface Tariff {
  minimum: Money
  maximum: Money
  dailyMaximum: Money | null
  fixedFee: Money
  feeRate: Ratio
}

/** A configured amount. Throws a RangeError if its currency cannot express it. */
export const parseConfiguredAmount = (text: string, currency: string): Money => {
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is not an amount of ${currency}`)
  return parsed
}

/** Throws a RangeError for an invalid amount or share, so that a wrong setting stops the start. */
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

/** An amount, the house's fee and the net amount. */
export interface Charge {
  amount: Money
  fee: Money
  net: Money
}

/** The charge for a requested amount. Rounds the fee up. Throws WALLET.LIMIT_EXCEEDED outside the tariff's limits. */
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

/** The fields of an order that the trigger in schema/daily-usage.ts reads. */
export const dailyUsageData = (channel: string, { dailyMaximum }: Tariff) => ({
  usageOf: channel,
  dailyMax: dailyMaximum === null ? null : dailyMaximum.minor.toString(),
})
