import { isRecord } from '../kernel/index.ts'
import { mergeSettings, placedOwners, type SettingsDeclaration, type SettingsOwner } from './domain-settings.ts'
import { additionalPortals, portalNames } from './portals/additional.ts'
import type { Settings } from './schema.ts'
import { valueAt } from './values.ts'

const mailCodes = ['never', 'untilAuthenticator', 'always']

/** Units of `target` per unit of `source`. */
export interface FixedRate {
  source: string
  target: string
  rate: string
}

interface Compared {
  settings: Settings
  defaults: unknown
  rates: readonly FixedRate[]
}

type IsWeaker = (value: unknown, standard: unknown, compared: Compared) => boolean

const isMore: IsWeaker = (value, standard) => numberOf(value) > numberOf(standard)
const isLess: IsWeaker = (value, standard) => numberOf(value) < numberOf(standard)
const isDifferent: IsWeaker = (value, standard) => value !== standard
const acceptsMoreMails: IsWeaker = (value, standard) =>
  mailCodes.indexOf(String(value)) > mailCodes.indexOf(String(standard))

/** Compares values in the standard's currency. `unlimited` and a sum without a configured rate count as weaker. */
const isHigherSum: IsWeaker = (amount, standard, { settings, defaults, rates }) => {
  const currency = String(valueAt(defaults, 'money.stepUpAbove.currency'))
  const value = Number(amount) * configuredRate(settings.money.stepUpAbove.currency, currency, rates)
  return !(value <= Number(standard))
}

/** The gateway's rules against theft and fraud whose production defaults a deployment can weaken, by setting. */
const gatewayRules: Readonly<Record<string, IsWeaker>> = {
  'mfa.binding': isDifferent,
  'mfa.stepUpMs': isMore,
  'passwords.minimumScore': isLess,
  'passwords.suspicionWindowMs': isLess,
  'money.stepUpAbove.amount': isHigherSum,
  'money.stepUpAbove.apiKeys': isDifferent,
  'money.separationOfDuties.enabled': isDifferent,
}

const comparisons = { maximum: isMore, minimum: isLess, fixed: isDifferent }

export interface ProductionRule {
  setting: string
  isWeakened: boolean
  /** As text. */
  value: string
  standard: string
}

/** Compares settings with the defaults of the production profile. */
export function productionRules(compared: Compared, domains: readonly SettingsOwner[]): ProductionRule[] {
  const { settings, defaults } = compared
  // An additional portal has the defaults of CONSUMER.
  const consumer = valueAt(defaults, 'portals.CONSUMER')
  const additional = Object.fromEntries(additionalPortals(settings.portals).map(([name]) => [name, consumer]))
  const allDefaults = mergeSettings(defaults, { portals: additional })
  const ofDomains = placedOwners(domains).flatMap((owner) => rulesOf(owner, owner.settingsKey))
  const ofPortals = portalNames(settings.portals).map(
    (name) => [`portals.${name}.mfa.mailCodes`, acceptsMoreMails] as const,
  )
  return [...ofPortals, ...Object.entries(gatewayRules), ...ofDomains].map(([setting, isWeaker]) => {
    const [value, standard] = [valueAt(settings, setting), valueAt(allDefaults, setting)]
    const isWeakened = isWeaker(value, standard, compared)
    const toText = (one: unknown): string => (isRecord(one) ? JSON.stringify(one) : String(one))
    return { setting, isWeakened, value: toText(value), standard: toText(standard) }
  })
}

/** Every other value, such as `off`, is above every number. */
function numberOf(value: unknown): number {
  const number = Number(value ?? Number.NaN)
  return Number.isNaN(number) ? Number.POSITIVE_INFINITY : number
}

/** NaN without a configured rate. */
function configuredRate(from: string, to: string, rates: readonly FixedRate[]): number {
  const rateOf = (source: string, target: string) =>
    Number(rates.find((rate) => rate.source === source && rate.target === target)?.rate)
  if (from === to) return 1
  const direct = rateOf(from, to)
  return Number.isNaN(direct) ? 1 / rateOf(to, from) : direct
}

function rulesOf({ productionRules: rules = {} }: SettingsDeclaration, key: string): [string, IsWeaker][] {
  return Object.entries(rules).map(([name, rule]) => [`${key}.${name}`, comparisons[rule]])
}
