import {
  add,
  compare,
  invalid,
  type Money,
  money,
  multiplyRoundingUp,
  parseMoney,
  parseRatio,
  type Ratio,
  Refusal,
  subtract,
} from '../kernel/index.ts'
import type { Party } from './command.ts'
import { feeParties } from './fee.ts'

/** What a channel takes and costs, as a configuration writes it: decimal strings of `currency`; the rate is a share. */
export interface TariffTerms {
  currency: string
  minAmount: string
  maxAmount: string
  /** All orders of one workspace on one day (UTC); absent for no limit. */
  dailyMax?: string | undefined
  fixedFee: string
  feeRate: string
}

export interface Tariff {
  minimum: Money
  maximum: Money
  dailyMaximum: Money | null
  fixedFee: Money
  feeRate: Ratio
}

const configured = (text: string, currency: string): Money => {
  const parsed = parseMoney(text, currency)
  if (!parsed) throw new RangeError(`${text} is no amount of ${currency}`)
  return parsed
}

/** Throws where a text is no amount or no share, so that a wrong one stops the start and no order. */
export const tariffOf = ({ currency, minAmount, maxAmount, dailyMax, fixedFee, feeRate }: TariffTerms): Tariff => {
  const share = parseRatio(feeRate)
  if (!share || share.numerator >= share.denominator) throw new RangeError(`${feeRate} is no share below one`)
  return {
    minimum: configured(minAmount, currency),
    maximum: configured(maxAmount, currency),
    dailyMaximum: dailyMax === undefined ? null : configured(dailyMax, currency),
    fixedFee: configured(fixedFee, currency),
    feeRate: share,
  }
}

/** An amount, what the house takes of it, and what is left. */
export interface Charge {
  amount: Money
  fee: Money
  net: Money
}

/** The fee is rounded up: rounding is never in the customer's favour. */
export const chargeOf = ({ minimum, maximum, fixedFee, feeRate }: Tariff, text: string): Charge => {
  const { currency } = minimum
  const amount = parseMoney(text, currency)
  if (!amount || amount.minor <= 0n) throw invalid('amount')
  const outside = compare(amount, minimum) < 0 || compare(amount, maximum) > 0
  if (outside) throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'below the minimum or above the maximum' })
  const fee = add(fixedFee, money(multiplyRoundingUp(amount.minor, feeRate), currency))
  const net = subtract(amount, fee)
  if (net.minor <= 0n) throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'the fee leaves nothing' })
  return { amount, fee, net }
}

/** The other side of a charged order: the outside world, and the house where it takes a fee. */
export const housesOf = ({ amount: { currency }, fee }: Pick<Charge, 'amount' | 'fee'>): Party[] => [
  { label: 'outside', house: 'CLEARING', currency, short: 'SYSTEM.INTERNAL_ERROR' },
  ...feeParties(fee),
]

/** The fields of an order that the trigger in schema/daily-usage.ts reads. */
export const usageOf = (channel: string, { dailyMaximum }: Tariff) => ({
  usageOf: channel,
  dailyMax: dailyMaximum === null ? null : dailyMaximum.minor.toString(),
})
