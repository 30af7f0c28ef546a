import type { Configuration } from '../config/index.ts'
import type { Database } from '../database/index.ts'
import {
  exponentOf,
  isSteppedUp,
  type Money,
  money,
  multiplyRatios,
  multiplyRoundingUp,
  type Ratio,
  ratio,
} from '../kernel/index.ts'
import type { Outgoing, Usage } from './commands/command.ts'
import { parseConfiguredAmount, type Tariff } from './tariff.ts'

interface DailyLimit {
  /** The channel or channel type to which the limit applies, such as `WITHDRAWAL BANK`. */
  usageOf: string
  amount: Money
  /** A digest. Absent for incoming payments. */
  externalAccount?: string
}

export function dailyLimits({ dailyMaximum }: Tariff, { usageOf, amount, externalAccount }: DailyLimit): Usage[] {
  if (dailyMaximum === null) return []
  const limit = { usageOf, amount, max: dailyMaximum.minor, exceeded: 'WALLET.LIMIT_EXCEEDED' } as const
  return [
    { ...limit, of: 'WORKSPACE' },
    { ...limit, of: 'PERSON' },
    ...(externalAccount === undefined ? [] : [{ ...limit, of: 'EXTERNAL_ACCOUNT' as const, subject: externalAccount }]),
  ]
}

export interface OutgoingRules {
  /** Value per person and 24 hours above which a step-up is required. Null is unlimited. */
  above: Money | null
  apiKeys: Configuration['money']['stepUpAbove']['apiKeys']
  stepUpMs: number
  /** Returns the highest rate in force, in units of `target` per unit of `source`, or undefined. */
  findRate(database: Database, pair: { source: string; target: string }): Promise<Ratio | undefined>
}

/** Throws a RangeError if the amount is invalid, so that an invalid setting prevents startup. */
export function parseOutgoingRules(
  { currency, amount, apiKeys }: Configuration['money']['stepUpAbove'],
  rest: Pick<OutgoingRules, 'stepUpMs' | 'findRate'>,
): OutgoingRules {
  return {
    ...rest,
    above: amount === 'unlimited' ? null : parseConfiguredAmount(amount, currency),
    apiKeys,
  }
}

/**
 * The sum of all orders with which a person moves value out of their workspaces. Its amounts are in the currency of the
 * setting. A currency without a rate counts as above the sum, as do earlier amounts in another currency: the setting
 * has changed since.
 *
 * A session without a recent step-up gets ACCESS.STEP_UP_REQUIRED above the sum. An API key cannot step up: it gets
 * WALLET.LIMIT_EXCEEDED, unless the settings allow it.
 */
export async function outgoingUsage(
  { above, apiKeys, stepUpMs, findRate }: OutgoingRules,
  { amount, leaving, by: { caller, receivedAt } }: Outgoing,
  database: Database,
): Promise<Usage[]> {
  if (above === null) return []
  const { currency, minor: max } = above
  const rate =
    amount.currency === currency
      ? ratio(1n, 1n)
      : await findRate(database, { source: amount.currency, target: currency })
  const excessive = max + 1n
  const perMinor = ratio(10n ** BigInt(exponentOf(currency)), 10n ** BigInt(exponentOf(amount.currency)))
  const value = rate ? multiplyRoundingUp(amount.minor, multiplyRatios(rate, perMinor)) : excessive
  const isKey = caller.apiKeyId !== null
  const isAllowed = isKey ? apiKeys === 'allow' : isSteppedUp(caller, receivedAt, stepUpMs)
  return [
    {
      of: 'PERSON',
      usageOf: 'OUTGOING',
      // A larger value could exceed the column.
      amount: money(value < excessive ? value : excessive, currency),
      otherCurrencies: excessive,
      max: isAllowed ? null : max,
      exceeded: isKey ? 'WALLET.LIMIT_EXCEEDED' : 'ACCESS.STEP_UP_REQUIRED',
      ...(leaving && { leaving }),
    },
  ]
}
