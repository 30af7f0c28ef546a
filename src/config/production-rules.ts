import { isRecord, parseMoney } from '../kernel/index.ts'
import type { Settings } from './schema.ts'

const mailCodes = ['never', 'untilAuthenticator', 'always']

type IsWeaker = (value: unknown, standard: unknown, settings: Settings) => boolean

const isMore: IsWeaker = (value, standard) => Number(value ?? Number.POSITIVE_INFINITY) > Number(standard)
const isLess: IsWeaker = (value, standard) => Number(value) < Number(standard)
const isDifferent: IsWeaker = (value, standard) => value !== standard
const acceptsMoreMails: IsWeaker = (value, standard) =>
  mailCodes.indexOf(String(value)) > mailCodes.indexOf(String(standard))

/** Compares numbers. In a currency that cannot have the standard's decimal places, only `unlimited` is weaker. */
const isHigherSum: IsWeaker = (amount, standard, { money: { stepUpAbove } }) => {
  const [sum, limit] = [amount, standard].map((text) => parseMoney(String(text), stepUpAbove.currency)?.minor)
  return sum === undefined || (limit !== undefined && sum > limit)
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

const valueAt = (tree: unknown, path: string): unknown =>
  path.split('.').reduce((part, key) => (isRecord(part) ? part[key] : undefined), tree)

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
    const isWeakened = isWeaker(value, standard, settings)
    const toText = (one: unknown): string => (isRecord(one) ? JSON.stringify(one) : String(one))
    return { setting, isWeakened, value: toText(value), standard: toText(standard) }
  })
