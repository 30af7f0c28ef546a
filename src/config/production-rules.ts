import { isRecord, parseMoney } from '../kernel/index.ts'
import type { Settings } from './schema.ts'

const mailCodes = ['never', 'untilAuthenticator', 'always']

type IsWeaker = (value: unknown, standard: unknown, settings: Settings) => boolean

const isMore: IsWeaker = (value, standard) => Number(value ?? Number.POSITIVE_INFINITY) > Number(standard)
const isLess: IsWeaker = (value, standard) => Number(value) < Number(standard)
const isDifferent: IsWeaker = (value, standard) => value !== standard
const acceptsMoreMails: IsWeaker = (value, standard) =>
  mailCodes.indexOf(String(value)) > mailCodes.indexOf(String(standard))

/** A currency without a sum has no limit. */
const hasHigherSum: IsWeaker = (sums, standards, { money: { currencies } }) => {
  const minorIn = (table: unknown, currency: string) =>
    parseMoney(String(isRecord(table) ? table[currency] : undefined), currency)?.minor
  return currencies.some((currency) => {
    const [sum, standard] = [minorIn(sums, currency), minorIn(standards, currency)]
    return sum === undefined || (standard !== undefined && sum > standard)
  })
}

/** The rules against theft and fraud whose production defaults a deployment can weaken, by setting. */
const rules: Readonly<Record<string, IsWeaker>> = {
  'portals.CONSUMER.mfa.mailCodes': acceptsMoreMails,
  'portals.SYSTEM.mfa.mailCodes': acceptsMoreMails,
  'mfa.stepUpMs': isMore,
  'passwords.minimumScore': isLess,
  'passwords.suspendChannelsYoungerThanMs': isLess,
  'access.ownerHoldMs': isLess,
  'access.apiKeys.maxLifeMs': isMore,
  'access.proposals.factorResetDelayMs': isLess,
  'money.stepUpAbove.transfers': hasHigherSum,
  'money.stepUpAbove.withdrawals': hasHigherSum,
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
