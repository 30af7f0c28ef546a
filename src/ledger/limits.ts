import type { Configuration } from '../config/index.ts'
import { isSteppedUp, type Money } from '../kernel/index.ts'
import type { CommandContext, Usage } from './commands/command.ts'
import { parseConfiguredAmount, type Tariff } from './tariff.ts'

interface DailyLimit {
  /** The channel or channel type to which the limit applies, such as `WITHDRAWAL BANK`. */
  usageOf: string
  amount: Money
  /** A digest. Absent for incoming payments. */
  externalAccount?: string
}

export const dailyLimits = ({ dailyMaximum }: Tariff, { usageOf, amount, externalAccount }: DailyLimit): Usage[] => {
  if (dailyMaximum === null) return []
  const limit = { usageOf, amount, max: dailyMaximum.minor, exceeded: 'WALLET.LIMIT_EXCEEDED' } as const
  return [
    { ...limit, of: 'WORKSPACE' },
    { ...limit, of: 'PERSON' },
    ...(externalAccount === undefined ? [] : [{ ...limit, of: 'EXTERNAL_ACCOUNT' as const, subject: externalAccount }]),
  ]
}

type StepUpSums = Configuration['money']['stepUpAbove']

export interface OutgoingSettings {
  above: StepUpSums['transfers']
  apiKeys: StepUpSums['apiKeys']
  stepUpMs: number
}

export interface OutgoingRules {
  above: ReadonlyMap<string, bigint>
  apiKeys: StepUpSums['apiKeys']
  stepUpMs: number
}

/** Throws a RangeError if an amount is invalid, so that an invalid setting prevents startup. */
export const parseOutgoingRules = ({ above, ...rules }: OutgoingSettings): OutgoingRules => ({
  ...rules,
  above: new Map(
    Object.entries(above).flatMap(([currency, text]) =>
      text === 'unlimited' ? [] : [[currency, parseConfiguredAmount(text, currency).minor] as const],
    ),
  ),
})

/**
 * A session without a recent step-up gets ACCESS.STEP_UP_REQUIRED above the maximum. An API key cannot step up: it gets
 * WALLET.LIMIT_EXCEEDED, unless the settings allow it.
 */
export const outgoingUsage = (
  { above, apiKeys, stepUpMs }: OutgoingRules,
  order: Pick<Usage, 'usageOf' | 'amount' | 'leaving'>,
  { caller, receivedAt }: Pick<CommandContext, 'caller' | 'receivedAt'>,
): Usage[] => {
  const max = above.get(order.amount.currency)
  if (max === undefined) return []
  const isKey = caller.apiKeyId !== null
  const isAllowed = isKey ? apiKeys === 'allow' : isSteppedUp(caller, receivedAt, stepUpMs)
  const exceeded = isKey ? 'WALLET.LIMIT_EXCEEDED' : 'ACCESS.STEP_UP_REQUIRED'
  return [{ ...order, of: 'PERSON', max: isAllowed ? null : max, exceeded }]
}
