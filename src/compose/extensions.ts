import { type Domain, type LoadedDomain, toContract } from '../api/domain.ts'
import { type Configuration, ConfigurationError, placeOf, rateGroupErrors, withRateGroups } from '../config/index.ts'
import {
  bankingCatalogue,
  type Catalogue,
  CatalogueError,
  catalogueWith,
  type DeclarationError,
  identityContracts,
} from '../contract/index.ts'
import type { SchemaOwner } from '../database/index.ts'
import { bankingDomains } from '../domains/index.ts'
import { type LoadResult, loadDomains } from '../extensions/index.ts'
import { identityColumns } from '../identity/index.ts'
import { callSiteOf, isPassThrough, messageOf, rateGroups, withCallSite } from '../kernel/index.ts'
import type { KeyedColumns } from '../platform/key-rotation/index.ts'
import { orderOwners, sharedOwners } from './migrations.ts'

/** The errors of a build that continues after an error. */
const errorsOf = (error: unknown): readonly DeclarationError[] | undefined => {
  if (error instanceof CatalogueError) return error.errors
  if (error instanceof AggregateError) return error.errors.map((each) => ({ message: messageOf(each), declared: null }))
  return undefined
}

/** The errors in `found` beyond those in `known`. Two domains can cause the same message. */
const newErrors = (found: readonly DeclarationError[], known: readonly DeclarationError[]): DeclarationError[] => {
  const rest = known.map(({ message }) => message)
  return found.filter(({ message }) => {
    const index = rest.indexOf(message)
    if (index >= 0) rest.splice(index, 1)
    return index < 0
  })
}

const lineOf = ({ message, declared }: DeclarationError, domain: LoadedDomain): string =>
  withCallSite(`${domain.source}: ${message}`, callSiteOf(declared) === undefined ? domain : declared)

/**
 * If `build` fails because of extensions, throws a ConfigurationError with the errors of each one, its source, and the
 * file and line. Adds one extension after the other, because an error belongs to the one that causes it.
 */
export const buildWith = <Built>(
  domains: readonly LoadedDomain[],
  build: (domains: readonly LoadedDomain[]) => Built,
): Built => {
  try {
    return build(domains)
  } catch (error) {
    const added = domains.filter(({ isOurs }) => isOurs)
    build(added)
    const failures: string[] = []
    const causes: { message: string; line: string }[] = []
    let known: readonly DeclarationError[] = []
    for (const domain of domains.filter(({ isOurs }) => !isOurs)) {
      let found: readonly DeclarationError[] | undefined = []
      try {
        build([...added, domain])
      } catch (cause) {
        found = errorsOf(cause)
        if (!found) failures.push(lineOf({ message: messageOf(cause), declared: domain }, domain))
      }
      if (!found) continue
      for (const each of newErrors(found, known)) causes.push({ message: each.message, line: lineOf(each, domain) })
      known = found
      added.push(domain)
    }
    // A later extension may declare what an earlier one lacks.
    const remaining = new Set(known.map(({ message }) => message))
    const lines = causes.filter(({ message }) => remaining.has(message)).map(({ line }) => line)
    if (failures.length + lines.length === 0) throw error
    throw new ConfigurationError([...new Set([...failures, ...lines])])
  }
}

/** Owners that are not domains. */
const otherOwners = [...Object.keys(identityContracts), ...sharedOwners, 'kernel', 'pipeline']

/** Throws a CatalogueError. Domains with a name that is taken are joined under another one. */
const joinCatalogue = (domains: readonly LoadedDomain[]): Catalogue => {
  const contracts: Record<string, object> = {}
  const errors: DeclarationError[] = []
  for (const [index, domain] of domains.entries()) {
    const { name, source } = domain
    const isTaken = otherOwners.includes(name) || Object.hasOwn(contracts, name)
    if (isTaken) errors.push({ message: `name: the name ${name} is used twice`, declared: domain })
    contracts[isTaken ? `${name} of ${source}` : name] = toContract(domain, index)
  }
  try {
    const catalogue = catalogueWith(contracts)
    if (errors.length === 0) return catalogue
    throw new CatalogueError([], catalogue)
  } catch (error) {
    throw error instanceof CatalogueError ? new CatalogueError([...errors, ...error.errors], error.catalogue) : error
  }
}

export const catalogueOf = (domains: readonly LoadedDomain[]): Catalogue => buildWith(domains, joinCatalogue)

/** Returns a catalogue of the valid declarations, for the checks that follow an error. */
export const partialCatalogueOf = (domains: readonly LoadedDomain[]): Catalogue => {
  try {
    return joinCatalogue(domains)
  } catch (error) {
    return error instanceof CatalogueError ? error.catalogue : bankingCatalogue
  }
}

export const withDomainLimits = <Settings extends Pick<Configuration, 'limits' | 'portals'>>(
  settings: Settings,
  { rateGroups: declared }: Pick<Catalogue, 'rateGroups'>,
): Settings => {
  const errors = rateGroupErrors(settings, new Set([...rateGroups, ...declared.keys()]))
  if (errors.length > 0) throw new ConfigurationError(errors)
  return withRateGroups(settings, Object.fromEntries(declared))
}

const ownerOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

export const schemaOwnersOf = (domains: readonly LoadedDomain[]): readonly SchemaOwner[] =>
  orderOwners(domains.flatMap(({ name, migrations }) => (migrations ? [{ owner: ownerOf(name), migrations }] : [])))

export const keyedColumnsOf = (domains: readonly LoadedDomain[]): KeyedColumns => {
  const all = [identityColumns, ...domains.flatMap(({ keyedColumns }) => keyedColumns ?? [])]
  return { sealed: all.flatMap(({ sealed }) => sealed), digests: all.flatMap(({ digests }) => digests) }
}

export interface ParsedSettings {
  /** By domain. Without the settings that are invalid. */
  settings: ReadonlyMap<string, unknown>
  errors: readonly string[]
}

export const readSettings = (
  domains: readonly LoadedDomain[],
  { domains: configured }: Pick<Configuration, 'domains'>,
): ParsedSettings => {
  const errors = Object.keys(configured)
    .filter((name) => configured[name] !== 'off')
    .filter((name) => !domains.some((domain) => domain.name === name && domain.settings))
    .map((name) => `domains.${name}: no domain with settings has this name`)
  const settings = new Map<string, unknown>()
  for (const { name, settings: schema } of domains) {
    const parsed = schema?.safeParse(configured[name] ?? {})
    if (parsed?.success !== false) settings.set(name, parsed?.data ?? {})
    for (const { path, message } of parsed?.error?.issues ?? [])
      errors.push(`domains.${[name, ...path].join('.')}: ${message}`)
  }
  return { settings, errors }
}

/** Throws a ConfigurationError that lists every error. */
export const parseSettings = (
  domains: readonly LoadedDomain[],
  configured: Pick<Configuration, 'domains'>,
): ReadonlyMap<string, unknown> => {
  const { settings, errors } = readSettings(domains, configured)
  if (errors.length > 0) throw new ConfigurationError([...errors])
  return settings
}

export const assertBackends = (
  domains: readonly LoadedDomain[],
  { routableDomains }: Pick<Catalogue, 'routableDomains'>,
  settings: Pick<Configuration, 'backends'>,
): void => {
  const errors = [
    ...Object.keys(settings.backends)
      .filter((name) => name !== 'default' && !routableDomains.includes(name))
      .map((name) => `backends.${name}: no domain has this name`),
    ...domains
      .filter(({ operations, isRemote }) => isRemote || Object.values(operations).some(isPassThrough))
      .filter(({ name }) => placeOf(settings, name) === 'in-process')
      .map(({ name, source }) => `${source}: the domain ${name} needs backends.${name} with a url`),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
}

/** Identity and the gateway need these domains in every process. */
const requiredDomains = ['members', 'workspaces', 'operators']

const isOff = ({ domains }: Pick<Configuration, 'domains'>, name: string): boolean => domains[name] === 'off'

export const enabledDomains = (
  domains: readonly LoadedDomain[],
  settings: Pick<Configuration, 'domains'>,
): readonly LoadedDomain[] => domains.filter(({ name }) => !isOff(settings, name))

export const assertSwitchedOff = (domains: readonly LoadedDomain[], settings: Pick<Configuration, 'domains'>): void => {
  const errors = [
    ...Object.keys(settings.domains)
      .filter((name) => isOff(settings, name) && !domains.some((domain) => domain.name === name))
      .map((name) => `domains.${name}: no domain has this name`),
    ...requiredDomains
      .filter((name) => isOff(settings, name))
      .map((name) => `domains.${name}: cannot be off, because the gateway needs it`),
    ...enabledDomains(domains, settings).flatMap(({ name, uses = [] }) =>
      uses
        .filter((used) => isOff(settings, used))
        .map((used) => `domains.${used}: cannot be off, because ${name} uses it`),
    ),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
}

export interface Loaded {
  /** The enabled domains. */
  domains: readonly LoadedDomain[]
  /** Includes domains that are off, because other tables reference theirs. */
  owners: readonly SchemaOwner[]
  keyedColumns: KeyedColumns
}

const ours: ReadonlySet<Domain> = new Set(bankingDomains)

export const loadAll = (
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<LoadResult> => loadDomains(domains, ours, settings)

/** Throws a ConfigurationError that lists every error of the domains themselves. */
export const loadConfigured = async (
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<Loaded> => {
  const { domains: all, errors } = await loadAll(domains, settings)
  if (errors.length > 0) throw new ConfigurationError([...errors])
  assertSwitchedOff(all, settings)
  return { domains: enabledDomains(all, settings), owners: schemaOwnersOf(all), keyedColumns: keyedColumnsOf(all) }
}
