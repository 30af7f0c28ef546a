import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { DomainPorts, LoadedDomain } from '../api/domain.ts'
import { AssertionClaims } from '../backends/index.ts'
import { bankingDomains, operatorRoles } from '../banking/index.ts'
import { inPackage, packageVersion } from '../config/env.ts'
import { type Configuration, placeOf, portalNames, settingsOfPortal } from '../config/index.ts'
import type { EventRow } from '../contract/events/event.ts'
import { bankingCatalogue, type Catalogue } from '../contract/index.ts'
import type { OperatorRole, Permissions } from '../contract/permissions.ts'
import { foreignTexts } from '../documents/index.ts'
import type { AdditionalPortal } from '../gateway/index.ts'
import {
  type ChainId,
  chains,
  domainOf,
  fallbackLocale,
  hasWorkspaces,
  isChainOf,
  type Operation,
  type Permission,
  type Portal,
  type PortalMount,
  type Words,
} from '../kernel/index.ts'
import {
  type Examples,
  type JsonObject,
  openApiDocument,
  readExamples,
  serviceDocument,
  withoutTexts,
  withValues,
} from '../openapi/index.ts'
import { createWords } from '../platform/i18n/index.ts'
import { type MailTexts, readMailTexts } from '../platform/mail/index.ts'
import { developmentIds, developmentValues } from '../seed/development.ts'
import { ownersOf, rethrow } from './extensions.ts'
import { portalTexts } from './portals/additional.ts'

/** Includes the domains that are off, because documents of other gateways contain no texts of Portico. */
export const localeDirectories: readonly string[] = [
  inPackage('assets/locales'),
  ...bankingDomains.flatMap(({ locales }) => (locales ? [fileURLToPath(locales)] : [])),
]

/** Throws a ConfigurationError for the texts of extensions. */
export function wordsOf(
  { codes, codedFamilies }: Catalogue,
  domains: readonly LoadedDomain[],
  settings?: Pick<Configuration, 'codedValues' | 'portals'>,
): Words {
  const owners = ownersOf(domains)
  const extensions = [...owners]
    .filter(([, { isOurs }]) => !isOurs)
    .map(([owner, domain]) => ({
      owner,
      directory: domain.locales && fileURLToPath(domain.locales),
      texts: domain.texts,
      requiredKeys: keysOfDocument(domain),
    }))
  try {
    return createWords({
      directories: localeDirectories,
      extensions,
      codes,
      families: codedFamilies,
      ...(settings && { codedOverrides: settings.codedValues, addedTexts: portalTexts(settings) }),
    })
  } catch (error) {
    return rethrow(error, owners)
  }
}

/** Rejects with a ConfigurationError for the mails of extensions. */
export function mailTextsOf(domains: readonly LoadedDomain[]): Promise<MailTexts> {
  const owners = ownersOf(domains)
  const directories = [...owners].flatMap(([domain, { mails }]) =>
    mails ? [{ domain, directory: fileURLToPath(mails.directory), templates: mails.templates }] : [],
  )
  return readMailTexts(inPackage('assets/mails'), directories).catch((error: unknown) => rethrow(error, owners))
}

/** `additional` is the portal, unless it is CONSUMER or SYSTEM. */
export function catalogueOfPortal(catalogue: Catalogue, portal: Portal, additional?: AdditionalPortal): Catalogue {
  const isOfPortal = (chain: ChainId): boolean => isChainOf(chains[chain], portal)
  const offered = catalogue.namedOperations.filter(([, operation]) => additional?.offers(operation) ?? true)
  const namedOperations = offered.flatMap(([name, operation]): [string, Operation][] => {
    const [first, ...rest] = operation.chains.filter(isOfPortal)
    return first ? [[name, { ...operation, chains: [first, ...rest] }]] : []
  })
  const operations = namedOperations.map(([, operation]) => operation)
  const served = new Set(operations.map(({ id }) => domainOf(id)))
  const { workspace, operator } = catalogue.permissionTable
  const isRead = ([, { audience, operatorPermission }]: [string, EventRow]): boolean =>
    hasWorkspaces(portal) ? audience === 'workspace' : operatorPermission !== null
  return {
    ...catalogue,
    events: new Map([...catalogue.events].filter(isRead)),
    namedOperations,
    operations,
    summaries: new Map([...catalogue.summaries].filter(([domain]) => served.has(domain))),
    permissionTable: hasWorkspaces(portal) ? { workspace, operator: [] } : { workspace: [], operator },
  }
}

interface DocumentSettings {
  isSealed?: boolean
  isDevelopment?: boolean
  mount?: PortalMount | null
}

/**
 * With `isSealed`, the document describes the sealed bodies of the secure channel, too. With `isDevelopment`, the
 * examples have the ids and the password of the development seed. With `mount`, it describes an additional portal.
 */
export function buildOpenApiDocument(
  catalogue: Catalogue,
  words: Words,
  { isSealed = false, isDevelopment = false, mount = null }: DocumentSettings = {},
): Promise<JsonObject> {
  const recorded = readExamplesFor(catalogue)
  return openApiDocument(catalogue, {
    isSealed,
    mount,
    version: packageVersion(),
    sentence: (code) => words.refusal(code, fallbackLocale),
    texts: foreignTexts(catalogue, words),
    ...(isDevelopment
      ? { examples: withValues(recorded, developmentValues), workspaceId: developmentIds.workspace }
      : { examples: recorded }),
  })
}

/** The document that a service for these domains implements. */
export function buildServiceDocument(
  catalogue: Catalogue,
  words: Words,
  service: { domains: readonly string[]; issuer: string; audience: string },
): Promise<JsonObject> {
  return serviceDocument(catalogue, {
    ...service,
    version: packageVersion(),
    claims: z.toJSONSchema(AssertionClaims, { io: 'input' }),
    examples: readExamplesFor(catalogue),
    sentence: (code) => words.refusal(code, fallbackLocale),
  })
}

/** Operations that no upstream serves either respond with 501. */
export function findUnservedOperations(
  { isRoutable }: Pick<Catalogue, 'isRoutable'>,
  unserved: readonly string[],
  settings: Pick<Configuration, 'backends'>,
): string[] {
  return unserved.filter((id) => !isRoutable(domainOf(id)) || placeOf(settings, domainOf(id)) === 'in-process')
}

/** The ports about the declarations of all domains. */
export function declarationPorts(
  catalogue: Catalogue,
  { requests, portals, publicUrl }: Pick<Configuration, 'requests' | 'portals' | 'publicUrl'>,
): Pick<DomainPorts, 'permissions' | 'deployment'> {
  return {
    permissions: {
      workspace: catalogue.permissionTable.workspace,
      apiKey: catalogue.apiKeyPermissions,
      operator: catalogue.operatorPermissions,
    },
    deployment: {
      hasDomain: (name) => catalogue.summaries.has(name),
      codesOf: (family) => catalogue.codedFamilies.get(family)?.codes ?? [],
      uploadTimeoutMs: requests.uploadTimeoutMs,
      portals: portalNames(portals),
      hosts: [
        new URL(publicUrl).hostname,
        ...portalNames(portals).flatMap((each) => settingsOfPortal(portals, each).hosts),
      ],
      identityProviders: (portals.SYSTEM.identityProviders ?? []).map(({ id, issuer, groups }) => ({
        id,
        issuer,
        permissionsOf: (names) => (groups ? permissionsOfGroups(catalogue.operatorPermissions, groups, names) : null),
      })),
    },
  }
}

function permissionsOfGroups(
  all: readonly Permission[],
  roles: Readonly<Record<string, readonly OperatorRole[]>>,
  names: readonly string[],
): readonly Permission[] {
  const held = names.flatMap((name) => (Object.hasOwn(roles, name) ? (roles[name] ?? []) : []))
  return all.filter((permission) => held.some((role) => operatorRoles[role]?.(permission)))
}

function keysOfDocument({ isRemote, contract = {} }: LoadedDomain): string[] {
  if (!isRemote) return []
  const { codes = {}, permissions = {} }: { codes?: object; permissions?: Permissions } = contract
  return [
    ...Object.keys(codes).map((code) => `refusal.${code}`),
    ...[permissions.workspace, permissions.operator].flatMap((groups = {}) =>
      Object.entries(groups).flatMap(([group, { actions }]) =>
        actions.flatMap((action) => [
          `permission.${group}:${action}.name`,
          `permission.${group}:${action}.description`,
        ]),
      ),
    ),
  ]
}

/** The recorded examples without the codes and permissions of domains that are off. */
function readExamplesFor(catalogue: Catalogue): Examples {
  const kept = new Set(codesAndPermissions(catalogue))
  const missing = new Set(codesAndPermissions(bankingCatalogue).filter((each) => !kept.has(each)))
  return withoutTexts(readExamples(inPackage('docs/examples.json')), missing)
}

function codesAndPermissions({ codedFamilies, workspacePermissions, operatorPermissions }: Catalogue): string[] {
  return [...[...codedFamilies.values()].flatMap(({ codes }) => codes), ...workspacePermissions, ...operatorPermissions]
}
