import { isRecord } from '../kernel/index.ts'
import type { Settings } from './schema.ts'

const mailCodes = ['never', 'untilAuthenticator', 'always']

type IsWeaker = (value: unknown, standard: unknown, settings: Settings, defaults: unknown) => boolean

const isMore: IsWeaker = (value, standard) => Number(value ?? Number.POSITIVE_INFINITY) > Number(standard)
const isLess: IsWeaker = (value, standard) => Number(value) < Number(standard)
const isDifferent: IsWeaker = (value, standard) => value !== standard
const acceptsMoreMails: IsWeaker = (value, standard) =>
  mailCodes.indexOf(String(value)) > mailCodes.indexOf(String(standard))

const valueAt = (tree: unknown, path: string): unknown =>
  path.split('.').reduce((part, key) => (isRecord(part) ? part[key] : undefined), tree)

/** NaN without a configured rate. */
const configuredRate = (from: string, to: string, { money: { exchange } }: Settings): number => {
  const rateOf = (source: string, target: string) =>
    Number(exchange.rates.find((rate) => rate.source === source && rate.target === target)?.rate)
  if (from === to) return 1
  const direct = rateOf(from, to)
  return Number.isNaN(direct) ? 1 / rateOf(to, from) : direct
}

/** Compares values in the standard's currency. `unlimited` and a sum without a configured rate count as weaker. */
const isHigherSum: IsWeaker = (amount, standard, settings, defaults) => {
  const currency = String(valueAt(defaults, 'money.stepUpAbove.currency'))
  const value = Number(amount) * configuredRate(settings.money.stepUpAbove.currency, currency, settings)
  return !(value <= Number(standard))
}

/** The rules against theft and fraud whose production defaults a deployment can weaken, by setting. */
const rules: Readonly<Record<string, IsWeaker>> = {
  'portals.CONSUMER.mfa.mailCodes': acceptsMoreMails,
  'portals.SYSTEM.mfa.mailCodes': acceptsMoreMails,
  'mfa.binding': isDifferent,
  'mfa.stepUpMs': isMore,
  'passwords.minimumScore': isLess,
  'passwords.suspicionWindowMs': isLess,
  'access.payoutHoldMs': isLess,
  'access.apiKeys.maxLifeMs': isMore,
  'access.proposals.factorResetDelayMs': isLess,
  'money.stepUpAbove.amount': isHigherSum,
  'money.stepUpAbove.apiKeys': isDifferent,
  'money.separationOfDuties.enabled': isDifferent,
  'money.exchange.band': (value, standard) => value === 'off' || Number(value) > Number(standard),
  'money.recharge.referenceRequired': isDifferent,
}

export interface ProductionRule {
  setting: string
  isWeakened: boolean
  /** As text. */
  value: string
  standard: string
}

/** Compares settings with the defaults of the production profile. */
export const productionRules = (settings: Settings, defaults: unknown): ProductionRule[] =>
  Object.entries(rules).map(([setting, isWeaker]) => {
    const [value, standard] = [valueAt(settings, setting), valueAt(defaults, setting)]
    const isWeakened = isWeaker(value, standard, settings, defaults)
    const toText = (one: unknown): string => (isRecord(one) ? JSON.stringify(one) : String(one))
    return { setting, isWeakened, value: toText(value), standard: toText(standard) }
  })
