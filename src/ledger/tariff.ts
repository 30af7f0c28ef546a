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

/** Amounts are decimal strings in the tariff's currency. The fee rate is a fraction below 1. */
export type { TariffSettings }

export interface Tariff {
  minimum: Money
  maximum: Money
  dailyMaximum: Money | null
  fixedFee: Money
  feeRate: Ratio
}

export const parseConfiguredAmount = (text: string, currency: string): Money => {
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is not an amount of ${currency}`)
  return parsed
}

/** Throws a RangeError, so that an invalid setting prevents startup. */
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

export interface Charge {
  amount: Money
  fee: Money
  net: Money
}

/**
 * Rounds the fee up to a minor unit. Throws WALLET.LIMIT_EXCEEDED if the amount is outside the limits, or does not
 * exceed the fee.
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
