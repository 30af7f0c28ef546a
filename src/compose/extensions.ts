import { type Domain, type LoadedDomain, toContract } from '../api/domain.ts'
import { type Configuration, ConfigurationError, placeOf, rateGroupErrors, withRateGroups } from '../config/index.ts'
import { type Catalogue, CatalogueError, catalogueWith, identityContracts } from '../contract/index.ts'
import type { SchemaOwner } from '../database/index.ts'
import { bankingDomains } from '../domains/index.ts'
import { loadDomains } from '../extensions/index.ts'
import { identityColumns } from '../identity/index.ts'
import { isPassThrough, messageOf, rateGroups } from '../kernel/index.ts'
import type { KeyedColumns } from '../platform/key-rotation/index.ts'
import { orderOwners, sharedOwners } from './migrations.ts'

const errorsOf = (error: unknown): readonly string[] =>
  error instanceof CatalogueError ? error.errors : [messageOf(error)]

/** If `build` fails because of extensions, throws a ConfigurationError with the errors of each one and its source. */
export const buildWith = <Built>(
  domains: readonly LoadedDomain[],
  build: (domains: readonly LoadedDomain[]) => Built,
): Built => {
  try {
    return build(domains)
  } catch (error) {
    const sound = domains.filter(({ isOurs }) => isOurs)
    build(sound)
    const errors: string[] = []
    for (const domain of domains.filter(({ isOurs }) => !isOurs))
      try {
        build([...sound, domain])
        sound.push(domain)
      } catch (cause) {
        errors.push(...errorsOf(cause).map((message) => `${domain.source}: ${message}`))
      }
    if (errors.length > 0) throw new ConfigurationError(errors)
    throw error
  }
}

export const catalogueOf = (domains: readonly LoadedDomain[]): Catalogue =>
  buildWith(domains, (each) => {
    const names = new Set<string>([...Object.keys(identityContracts), ...sharedOwners])
    for (const { name } of each) {
      if (names.has(name)) throw new TypeError(`the name ${name} is used twice`)
      names.add(name)
    }
    return catalogueWith(Object.fromEntries(each.map((domain, index) => [domain.name, toContract(domain, index)])))
  })

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

/** Throws a ConfigurationError that lists every error. */
export const parseSettings = (
  domains: readonly LoadedDomain[],
  { domains: configured }: Pick<Configuration, 'domains'>,
): ReadonlyMap<string, unknown> => {
  const errors = Object.keys(configured)
    .filter((name) => configured[name] !== 'off')
    .filter((name) => !domains.some((domain) => domain.name === name && domain.settings))
    .map((name) => `domains.${name}: no domain with settings has this name`)
  const settings = new Map<string, unknown>()
  for (const { name, settings: schema } of domains) {
    const parsed = schema?.safeParse(configured[name] ?? {})
    settings.set(name, parsed?.data ?? {})
    for (const { path, message } of parsed?.error?.issues ?? [])
      errors.push(`domains.${[name, ...path].join('.')}: ${message}`)
  }
  if (errors.length > 0) throw new ConfigurationError(errors)
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

const switchOff = (
  domains: readonly LoadedDomain[],
  { domains: configured }: Pick<Configuration, 'domains'>,
): readonly LoadedDomain[] => {
  const isOff = (name: string): boolean => configured[name] === 'off'
  const errors = [
    ...Object.keys(configured)
      .filter((name) => isOff(name) && !domains.some((domain) => domain.name === name))
      .map((name) => `domains.${name}: no domain has this name`),
    ...requiredDomains.filter(isOff).map((name) => `domains.${name}: cannot be off, because the gateway needs it`),
    ...domains
      .filter(({ name }) => !isOff(name))
      .flatMap(({ name, uses = [] }) =>
        uses.filter(isOff).map((used) => `domains.${used}: cannot be off, because ${name} uses it`),
      ),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
  return domains.filter(({ name }) => !isOff(name))
}

export interface Loaded {
  /** The enabled domains. */
  domains: readonly LoadedDomain[]
  /** Includes domains that are off, because other tables reference theirs. */
  owners: readonly SchemaOwner[]
  keyedColumns: KeyedColumns
}

const ours: ReadonlySet<Domain> = new Set(bankingDomains)

export const loadConfigured = async (
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<Loaded> => {
  const all = await loadDomains(domains, ours, settings)
  return { domains: switchOff(all, settings), owners: schemaOwnersOf(all), keyedColumns: keyedColumnsOf(all) }
}
