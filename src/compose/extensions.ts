import { type Domain, type LoadedDomain, toContract } from '../api/domain.ts'
import { bankingDomains } from '../banking/index.ts'
import {
  type Configuration,
  ConfigurationError,
  defaultsOf,
  explainIssue,
  mergeSettings,
  placedOwners,
  placeOf,
  rateGroupErrors,
  requiredPasskeyErrors,
  settingsAt,
  withRateGroups,
} from '../config/index.ts'
import { type Catalogue, gatewayContracts, joinWith } from '../contract/index.ts'
import type { SchemaOwner } from '../database/index.ts'
import {
  bankSwitch,
  hookErrors,
  hooksOf,
  isOff,
  type LoadResult,
  loadDomains,
  withHookCodes,
} from '../extensions/index.ts'
import { identityColumns } from '../identity/index.ts'
import {
  callSiteOf,
  type DeclarationError,
  DeclarationErrors,
  type HandlerTable,
  isPassThrough,
  type Operation,
  rateGroups,
  withCallSite,
} from '../kernel/index.ts'
import type { KeyedColumns } from '../platform/key-rotation/index.ts'
import { reactionErrors, withReactions } from './events/declared.ts'
import { orderOwners, sharedOwners } from './migrations.ts'

/** Owners that are not domains. */
const otherOwners: readonly string[] = [
  ...Object.keys(gatewayContracts),
  ...sharedOwners,
  'kernel',
  'pipeline',
  bankSwitch,
]

const ours: ReadonlySet<Domain> = new Set(bankingDomains)

/** Their tables exist even if they are off. */
const ownNames: ReadonlySet<string> = new Set(bankingDomains.map(({ name }) => name))

/**
 * Returns the domains by a unique name. A conflict is an error of the later owner, so Portico's own domains come first.
 */
export function ownersOf(domains: readonly LoadedDomain[]): ReadonlyMap<string, LoadedDomain> {
  const owners = new Map<string, LoadedDomain>()
  for (const domain of domains.toSorted((one, other) => Number(other.isOurs) - Number(one.isOurs))) {
    const isReserved = otherOwners.includes(domain.name) || (!domain.isOurs && ownNames.has(domain.name))
    const isTaken = isReserved || owners.has(domain.name)
    owners.set(isTaken ? `${domain.name} of ${domain.source}` : domain.name, domain)
  }
  return owners
}

/** Turns DeclarationErrors of domains into a ConfigurationError. Never returns. */
export function rethrow(error: unknown, owners: ReadonlyMap<string, LoadedDomain>): never {
  throw error instanceof DeclarationErrors ? new ConfigurationError(linesOf(error.errors, owners)) : error
}

/** Returns a catalogue of the valid declarations, and the errors of the others. */
export function joinDomains(domains: readonly LoadedDomain[]): { catalogue: Catalogue; errors: string[] } {
  const owners = ownersOf(domains)
  const contracts = [...owners].map(([owner, domain], index) => [owner, toContract(domain, index)] as const)
  const { catalogue, errors } = joinWith(Object.fromEntries(contracts))
  const taken = [...owners]
    .filter(([owner, { name }]) => owner !== name)
    .map(([owner, { name }]) => ({ owner, message: `name: the name ${name} is used twice; choose another one` }))
  const declared = [
    ...taken,
    ...errors,
    ...reactionErrors(owners, catalogue),
    ...hookErrors(owners, catalogue, ownNames),
  ]
  const hooked = withHookCodes(catalogue, hooksOf(domains, catalogue))
  return { catalogue: withReactions(hooked, domains), errors: linesOf(declared, owners) }
}

/** Throws a ConfigurationError. */
export function catalogueOf(domains: readonly LoadedDomain[]): Catalogue {
  const { catalogue, errors } = joinDomains(domains)
  if (errors.length > 0) throw new ConfigurationError(errors)
  return catalogue
}

export function withDomainLimits<Settings extends Pick<Configuration, 'limits' | 'portals'>>(
  settings: Settings,
  catalogue: Pick<Catalogue, 'rateGroups' | 'operatorPermissions' | 'workspacePermissions'>,
): Settings {
  const declared = catalogue.rateGroups
  const errors = [
    ...rateGroupErrors(settings, new Set([...rateGroups, ...declared.keys()])),
    ...requiredPasskeyErrors(settings, catalogue),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
  return withRateGroups(settings, Object.fromEntries(declared))
}

export function schemaOwnersOf(domains: readonly Domain[]): readonly SchemaOwner[] {
  return orderOwners(
    domains.flatMap(({ name, migrations }) => (migrations ? [{ owner: ownerOf(name), migrations }] : [])),
  )
}

export function keyedColumnsOf(domains: readonly Domain[]): KeyedColumns {
  const all = [identityColumns, ...domains.flatMap(({ keyedColumns }) => keyedColumns ?? [])]
  return { sealed: all.flatMap(({ sealed }) => sealed), digests: all.flatMap(({ digests }) => digests) }
}

export interface ParsedSettings {
  /** By domain. Without the settings that are invalid. */
  settings: ReadonlyMap<string, unknown>
  errors: readonly string[]
}

/** The loader has already checked the settings outside `domains`. */
export function readSettings(domains: readonly LoadedDomain[], configuration: Configuration): ParsedSettings {
  const { domains: configured, profile, money } = configuration
  const errors = Object.keys(configured)
    .filter((name) => configured[name] !== 'off')
    .filter((name) => !domains.some((domain) => domain.name === name && domain.settings && !isPlaced(domain)))
    .map((name) => `domains.${name}: no domain with settings has this name; remove it, or add its module to extensions`)
  const settings = new Map<string, unknown>(
    placedOwners(domains).map((domain) => [domain.name, settingsAt(configuration, domain)]),
  )
  for (const domain of domains.filter((each) => !isPlaced(each))) {
    const { name } = domain
    const parsed = domain.settings?.safeParse(mergeSettings(defaultsOf(domain, profile), configured[name]), {
      error: explainIssue,
    })
    if (parsed?.success !== false) settings.set(name, parsed?.data ?? {})
    if (parsed?.success)
      errors.push(...(domain.checkSettings?.(parsed.data, { profile, currencies: money.currencies }) ?? []))
    for (const { path, message } of parsed?.error?.issues ?? [])
      errors.push(`domains.${[name, ...path].join('.')}: ${message}`)
  }
  return { settings, errors }
}

/** Throws a ConfigurationError that lists every error. */
export function parseSettings(
  domains: readonly LoadedDomain[],
  configuration: Configuration,
): ReadonlyMap<string, unknown> {
  const { settings, errors } = readSettings(domains, configuration)
  if (errors.length > 0) throw new ConfigurationError([...errors])
  return settings
}

/** Without `handlers`, every operation with events counts as handled: `partErrors` checks those. */
export function assertBackends(
  domains: readonly LoadedDomain[],
  { routableDomains }: Pick<Catalogue, 'routableDomains'>,
  settings: Pick<Configuration, 'backends'>,
  handlers?: HandlerTable,
): void {
  const isRemote = (operation: Operation): boolean =>
    isPassThrough(operation) && !(operation.reply === 'events' && (handlers?.has(operation.id) ?? true))
  const errors = [
    ...Object.keys(settings.backends)
      .filter((name) => name !== 'default' && !routableDomains.includes(name))
      .map((name) => `backends.${name}: no domain has this name; remove it, or add its module to extensions`),
    ...domains
      .filter((domain) => domain.isRemote || Object.values(domain.operations).some(isRemote))
      .filter(({ name }) => placeOf(settings, name) === 'in-process')
      .map(({ name, source }) => `${source}: the domain ${name} needs backends.${name} with a url`),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
}

/** Portico's other domains need these, so only all of Portico's own domains can be off together. */
const requiredDomains = ['members', 'workspaces', 'operators']

/** Throws a ConfigurationError for domains that cannot be off. */
export function enabledDomains(
  domains: readonly LoadedDomain[],
  { domains: switches }: Pick<Configuration, 'domains'>,
): readonly LoadedDomain[] {
  const enabled = domains.filter((domain) => !isOff(domain, switches))
  const off = domains.filter((domain) => isOff(domain, switches)).map(({ name }) => name)
  const isBankOff = switches[bankSwitch] === 'off'
  const switchOf = (name: string): string => (isBankOff && ownNames.has(name) ? bankSwitch : name)
  const errors = [
    ...Object.keys(switches)
      .filter((name) => switches[name] === 'off' && name !== bankSwitch && !domains.some((each) => each.name === name))
      .map((name) => `domains.${name}: no domain has this name; remove it`),
    ...requiredDomains
      .filter((name) => switches[name] === 'off' && !isBankOff)
      .map((name) => `domains.${name}: cannot be off, because the gateway needs it; switch off \`banking\` as a whole`),
    ...enabled.flatMap(({ name, uses = [] }) =>
      uses
        .filter((used) => off.includes(used))
        .map(
          (used) =>
            `domains.${switchOf(used)}: cannot be off, because ${name} uses ${switchOf(used) === used ? 'it' : used}; switch off both or none`,
        ),
    ),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
  return enabled
}

/** Throws a ConfigurationError for what only Portico's own domains can do, such as to let members into a workspace. */
export function assertPresent(
  domains: readonly LoadedDomain[],
  { portals }: Pick<Configuration, 'portals'>,
  passThrough: readonly Operation[],
): void {
  const lacks = (name: string): boolean => !domains.some((each) => each.isOurs && each.name === name)
  if (portals.CONSUMER.selfRegistration === 'approval' && lacks('operators'))
    throw new ConfigurationError([
      "portals.CONSUMER.selfRegistration: approval needs operators of Portico's own domains; use open or closed",
    ])
  const missing = ['workspaces', 'members'].filter(lacks)
  if (missing.length === 0) return
  const needs = ({ policy }: Operation): string =>
    `policy.workspace: '${policy.workspace}' needs ${missing.join(' and ')} of Portico's own domains; use 'none'`
  const isOfWorkspace = ({ policy }: Operation): boolean => policy.workspace !== 'none'
  const errors = [
    ...domains.flatMap((domain) =>
      Object.entries(domain.operations)
        .filter(([, operation]) => isOfWorkspace(operation))
        .map(([key, operation]) => {
          const site = callSiteOf(operation) === undefined ? domain : operation
          return withCallSite(`${domain.source}: operations.${key}.${needs(operation)}`, site)
        }),
    ),
    ...domains
      .filter(({ needs }) => needs?.includes('workspaces'))
      .map((domain) =>
        withCallSite(
          `${domain.source}: needs: workspaces is a port of ${missing.join(' and ')}, which are missing; remove it`,
          domain,
        ),
      ),
    ...passThrough.filter(isOfWorkspace).map((operation) => `${operation.id}: ${needs(operation)}`),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
}

export interface Loaded {
  /** The enabled domains. */
  domains: readonly LoadedDomain[]
  /** Includes domains that are off, and all of Portico's own, because other tables reference theirs. */
  owners: readonly SchemaOwner[]
  keyedColumns: KeyedColumns
}

export function loadAll(
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<LoadResult> {
  return loadDomains(domains, ours, settings)
}

/** Throws a ConfigurationError that lists every error of the domains themselves. */
export async function loadConfigured(
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<Loaded> {
  const { domains: all, errors } = await loadAll(domains, settings)
  if (errors.length > 0) throw new ConfigurationError([...errors])
  const withTables = [...bankingDomains, ...all.filter(({ isOurs }) => !isOurs)]
  return {
    domains: enabledDomains(all, settings),
    owners: schemaOwnersOf(withTables),
    keyedColumns: keyedColumnsOf(withTables),
  }
}

/** Each line has the source of the domain, and the file and line of the declaration. */
function linesOf(errors: readonly DeclarationError[], owners: ReadonlyMap<string, LoadedDomain>): string[] {
  const lines = errors.map(({ owner, message, declared }) => {
    const domain = owners.get(owner)
    const site = callSiteOf(declared) === undefined ? domain : declared
    return withCallSite(`${domain?.source ?? owner}: ${message}`, site)
  })
  return [...new Set(lines)]
}

function ownerOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function isPlaced({ settingsKey }: LoadedDomain): boolean {
  return settingsKey !== undefined
}
