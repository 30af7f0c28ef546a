import { type LoadedDomain, toContract } from '../api/domain.ts'
import { type Configuration, ConfigurationError, placeOf } from '../config/index.ts'
import { type Catalogue, catalogueWith, identityContracts } from '../contract/index.ts'
import type { SchemaOwner } from '../database/index.ts'
import { messageOf } from '../kernel/index.ts'
import { orderOwners, sharedOwners } from './migrations.ts'

/**
 * Calls `build` with the domains. If it fails because of an extension, throws a ConfigurationError with the source of the
 * first one that causes the failure.
 */
export const buildWith = <Built>(
  domains: readonly LoadedDomain[],
  build: (domains: readonly LoadedDomain[]) => Built,
): Built => {
  try {
    return build(domains)
  } catch (error) {
    const known = domains.filter(({ isOurs }) => isOurs)
    build(known)
    for (const domain of domains.filter(({ isOurs }) => !isOurs))
      try {
        known.push(domain)
        build(known)
      } catch (cause) {
        throw new ConfigurationError([`${domain.source}: ${messageOf(cause)}`])
      }
    throw error
  }
}

/**
 * Returns the catalogue of a process with these domains. Throws a ConfigurationError if two owners declare the same
 * name.
 */
export const catalogueOf = (domains: readonly LoadedDomain[]): Catalogue =>
  buildWith(domains, (each) => {
    const names = new Set<string>([...Object.keys(identityContracts), ...sharedOwners])
    for (const { name } of each) {
      if (names.has(name)) throw new TypeError(`the name ${name} is used twice`)
      names.add(name)
    }
    return catalogueWith(Object.fromEntries(each.map((domain, index) => [domain.name, toContract(domain, index)])))
  })

/** Returns the name of the owner of a domain's tables, in kebab case. */
const ownerOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Returns all owners of tables in the order of their migrations. */
export const schemaOwnersOf = (domains: readonly LoadedDomain[]): readonly SchemaOwner[] =>
  orderOwners(domains.flatMap(({ name, migrations }) => (migrations ? [{ owner: ownerOf(name), migrations }] : [])))

/** Parses the `domains` section by the schemas of the domains. Throws a ConfigurationError that lists every error. */
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

/**
 * Throws a ConfigurationError that lists the entries of `backends` without a domain, and the domains of documents
 * without a service.
 */
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
      .filter(({ name, isRemote }) => isRemote && placeOf(settings, name) === 'in-process')
      .map(({ name, source }) => `${source}: the domain ${name} needs backends.${name} with a url`),
  ]
  if (errors.length > 0) throw new ConfigurationError(errors)
}

/** Domains that identity and the gateway need in every process. */
const requiredDomains = ['members', 'workspaces', 'operators']

/** Removes the domains that are off. Throws a ConfigurationError if a remaining domain needs one of them. */
export const switchOff = (
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
