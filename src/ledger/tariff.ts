import { z } from 'zod'
import { knownCurrency, share } from '../config/values.ts'
import { moneyOf } from '../contract/fields.ts'
import {
  add,
  compare,
  isCurrency,
  type Money,
  money,
  multiplyRoundingUp,
  parseMoney,
  parseRatio,
  type Ratio,
  Refusal,
  subtract,
} from '../kernel/index.ts'

const tariff = {
  currency: knownCurrency.describe('Currency of the limits and fees in this entry.'),
  minAmount: z.string().describe('Minimum amount of an order. Smaller orders get 422.'),
  maxAmount: z.string().describe('Maximum amount of an order. Larger orders get 422.'),
  dailyMax: z
    .string()
    .optional()
    .describe(
      'Maximum total amount of orders within 24 hours: per workspace, per person across all workspaces, and per external account that receives money. Further orders get 422. Without a value, there is no limit.',
    ),
  fixedFee: z.string().describe('Fixed fee per order, in addition to the fee from `feeRate`.'),
  feeRate: share.describe('Fee per order as a share of the amount, in addition to `fixedFee`.'),
}
const tariffTerms = z.object(tariff)
/** Amounts are decimal strings in `currency`. */
export type TariffSettings = z.output<typeof tariffTerms>

const consistency = {
  message: 'amounts that fit the currency, with fees of minAmount < minAmount <= maxAmount and minAmount <= dailyMax',
}

/** The schema of limits and fees for orders, with further fields. */
export function tariffSettings<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({ ...fields, ...tariff }).refine(areConsistent, consistency)
}

export interface Tariff {
  minimum: Money
  maximum: Money
  dailyMaximum: Money | null
  fixedFee: Money
  feeRate: Ratio
}

export function parseConfiguredAmount(text: string, currency: string): Money {
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is not an amount of ${currency}`)
  return parsed
}

/** Throws a RangeError, so that an invalid setting prevents startup. */
export function parseTariff(settings: TariffSettings): Tariff {
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
export function computeCharge(tariff: Tariff, requested: string): Charge {
  const { minimum, maximum } = tariff
  const amount = moneyOf(requested, minimum.currency)
  if (compare(amount, minimum) < 0 || compare(amount, maximum) > 0)
    throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'below the minimum or above the maximum' })
  const charge = chargeOf(tariff, amount)
  if (charge.net.minor <= 0n) throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'the fee exceeds the amount' })
  return charge
}

/** Does not apply the minimum and the maximum. The net amount can be zero or negative. */
export function chargeOf({ fixedFee, feeRate }: Tariff, amount: Money): Charge {
  const fee = add(fixedFee, money(multiplyRoundingUp(amount.minor, feeRate), amount.currency))
  return { amount, fee, net: subtract(amount, fee) }
}

function areConsistent(entry: unknown): boolean {
  const read = tariffTerms.safeParse(entry)
  // If a field is invalid, its own schema reports the error.
  if (!read.success || !isCurrency(read.data.currency)) return true
  const { currency: code, ...texts } = read.data
  const minor = (text: string): bigint => parseMoney(text, code)?.minor ?? -1n
  const [min, max, fixed] = [minor(texts.minAmount), minor(texts.maxAmount), minor(texts.fixedFee)]
  const daily = texts.dailyMax === undefined ? max : minor(texts.dailyMax)
  return fixed >= 0n && min > minimumFee(fixed, texts.feeRate, min) && max >= min && daily >= min
}

/** Fees are the largest share of an order at the minimum amount. */
function minimumFee(fixed: bigint, rate: string, minimum: bigint): bigint {
  const parsed = parseRatio(rate)
  return parsed ? fixed + multiplyRoundingUp(minimum, parsed) : fixed
}
