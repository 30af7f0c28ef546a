import type { z } from 'zod'
import {
  type Code,
  type CodedFamily,
  type CodeTable,
  chains,
  codedFamily,
  type DeclarationError,
  domainOf,
  isCodedFamily,
  type Operation,
  operationsIn,
  type Permission,
  pipelineCodes,
  type RateGroups,
  type RateRules,
  type ReportError,
  rateGroups,
} from '../kernel/index.ts'
import { collectEvents, type EventTable, eventsOf } from './events/event.ts'
import { collectLedgerTypes, type LedgerTypeTable } from './ledger/ledger-types.ts'
import { passThroughErrors } from './pass-through.ts'
import {
  assertDeclaredPermissions,
  collectPermissions,
  joinDeclarations,
  operatorKeyErrors,
  operatorKeyPermissions,
  type PermissionList,
  type PermissionRow,
} from './permissions.ts'
import { confirmsErrors, purposeErrors } from './step-up-purpose.ts'

/** By owner, such as a domain. */
export type Contracts = Readonly<Record<string, object>>

export interface Catalogue {
  readonly namedOperations: readonly (readonly [name: string, operation: Operation])[]
  readonly operations: readonly Operation[]
  readonly codes: readonly Code[]
  isCode(text: string): text is Code
  statusOf(code: Code): number
  /** The HTTP status and a zero, such as 4010 for 401 (users/self). */
  numericCode(code: Code): string
  readonly codedFamilies: ReadonlyMap<string, CodedFamily>
  readonly ledgerTypes: LedgerTypeTable
  readonly events: EventTable
  readonly permissionTable: {
    readonly workspace: readonly PermissionRow[]
    readonly operator: readonly PermissionRow[]
  }
  readonly workspacePermissions: readonly Permission[]
  readonly operatorPermissions: readonly Permission[]
  readonly apiKeyPermissions: readonly Permission[]
  /** The lists of permissions to which `permissionCodes` of a contract file refers. */
  readonly permissionLists: Readonly<Record<PermissionList, readonly Permission[]>>
  /** Domains that the configuration can place behind HTTP. */
  readonly routableDomains: readonly string[]
  isRoutable(domain: string): boolean
  readonly summaries: ReadonlyMap<string, string>
  /** Groups of domains with their default limits, without Portico's own. */
  readonly rateGroups: ReadonlyMap<string, RateRules>
}

export function rateGroupsOf(contract: object): RateGroups {
  return 'rateGroups' in contract ? (contract.rateGroups as RateGroups) : {}
}
/** The domain without which a coded value does not exist, by family and code. */
export type CodeDomains = Readonly<Record<string, Readonly<Record<string, string>>>>

/**
 * The request bodies that depend on the order types of all domains, by operation name. The operation itself declares the
 * type of the body.
 */
export type OrderBodies = Readonly<Record<string, (types: LedgerTypeTable['orders']) => z.ZodType>>

export function codesOf(contract: object): CodeTable {
  return 'codes' in contract ? (contract.codes as CodeTable) : {}
}

export interface JoinedCatalogue {
  /** Contains the first of each duplicate. */
  catalogue: Catalogue
  /**
   * Every duplicate declaration, undeclared code, permission or rate group, operation that cannot be passed through, and
   * field that a step-up must confirm.
   */
  errors: readonly DeclarationError[]
}

/**
 * Joins the contract files of `domains` and of the `shared` owners, which have no operations. The types of domains that are
 * `off` stay known, because stored orders and entries keep them. No service can serve the `domains` that the gateway serves
 * itself.
 */
export function joinContracts(
  shared: Contracts,
  domains: Contracts,
  { off = {}, ofGateway = {} }: { off?: Contracts; ofGateway?: Contracts } = {},
): JoinedCatalogue {
  const isRoutable = (domain: string): boolean => !Object.hasOwn(ofGateway, domain)
  const errors: DeclarationError[] = []
  const report: ReportError = (error) => errors.push(error)
  const order = Object.keys(domains)
  const reserved = order.find((name) => name === 'pipeline' || Object.hasOwn(shared, name))
  if (reserved !== undefined)
    report({ owner: reserved, message: `name: the name ${reserved} is used twice; choose another one` })
  const positionOf = ({ id }: Operation): number => order.indexOf(domainOf(id))
  const owners: Contracts = { pipeline: { codes: pipelineCodes }, ...shared, ...domains }
  const allTypes = collectLedgerTypes({ ...off, ...owners }, report)
  const isOn = ({ owner }: { owner: string }): boolean => Object.hasOwn(owners, owner)
  const ledgerTypes = {
    ...allTypes,
    orders: new Map([...allTypes.orders].filter(([, type]) => isOn(type))),
    flowTypes: new Map([...allTypes.flowTypes].filter(([, type]) => isOn(type))),
  }
  // Several owners declare operations of `operators`, so sort by domain.
  const namedOperations = Object.values(domains)
    .flatMap((contract) => withOrderBodies(contract, ledgerTypes))
    .sort(([, a], [, b]) => positionOf(a) - positionOf(b))
  const operations = namedOperations.map(([, operation]) => operation)
  const permissionTable = {
    workspace: collectPermissions(owners, 'workspace', report),
    operator: collectPermissions(owners, 'operator', report),
  }
  const workspacePermissions = codesIn(permissionTable.workspace)
  const operatorPermissions = codesIn(permissionTable.operator)
  const apiKeyPermissions = codesIn(permissionTable.workspace.filter(({ isPeopleOnly }) => !isPeopleOnly))
  const statuses = joinDeclarations(
    'refusal code',
    Object.entries(owners).flatMap(([owner, contract]) =>
      Object.entries(codesOf(contract)).map(([code, { status }]) => [owner, code, status, `codes.${code}`] as const),
    ),
    report,
  )
  const isCode = (text: string): text is Code => statuses.has(text)
  const statusOf = (code: Code): number => statuses.get(code) ?? 500
  const events = collectEvents(domains, { workspace: workspacePermissions, operator: operatorPermissions }, report)
  const declaredRateGroups = collectRateGroups(domains, report)
  const codedFamilies = collectFamilies(owners, allTypes, report)
  assertDistinctOperations(domains, report)
  assertPassedAndConfirmed(domains, report)
  assertDeclaredPermissions(domains, { workspacePermissions, operatorPermissions }, report)
  assertKnownRefusals(domains, isCode, report)
  assertKnownRateGroups(domains, declaredRateGroups, report)
  // A service can take the place of a domain whose events the gateway's own operations emit.
  const checked = Object.fromEntries(Object.entries(domains).filter(([owner]) => isRoutable(owner)))
  assertKnownEvents(checked, typesOfEvents({ ...off, ...domains }, allTypes), report)
  const catalogue: Catalogue = {
    namedOperations,
    operations,
    codes: [...statuses.keys()].filter(isCode),
    isCode,
    statusOf,
    numericCode: (code) => `${statusOf(code)}0`,
    codedFamilies,
    ledgerTypes,
    events,
    permissionTable,
    workspacePermissions,
    operatorPermissions,
    apiKeyPermissions,
    permissionLists: {
      ...{ workspacePermissions, apiKeyPermissions, operatorPermissions },
      operatorKeyPermissions: operatorKeyPermissions.filter((code) => operatorPermissions.includes(code)),
    },
    routableDomains: [...new Set(operations.map(({ id }) => domainOf(id)))].filter(isRoutable),
    isRoutable,
    summaries: new Map(
      Object.entries(domains).flatMap(([name, contract]) =>
        'summary' in contract && typeof contract.summary === 'string' ? [[name, contract.summary]] : [],
      ),
    ),
    rateGroups: declaredRateGroups,
  }
  return { catalogue, errors }
}

function codesIn(rows: readonly PermissionRow[]): readonly Permission[] {
  return rows.map(({ code }) => code)
}

function collectRateGroups(domains: Contracts, report: ReportError): Catalogue['rateGroups'] {
  const ours = rateGroups.map((name) => ['pipeline', name, {}, 'rateGroups'] as const)
  const declared = Object.entries(domains).flatMap(([owner, contract]) =>
    Object.entries(rateGroupsOf(contract)).map(([name, rules]) => [owner, name, rules, `rateGroups.${name}`] as const),
  )
  const all = new Map(joinDeclarations<RateRules>('rate group', [...ours, ...declared], report))
  for (const name of rateGroups) all.delete(name)
  return all
}

/**
 * Returns every family of coded values. The family `flowType` has the flow types of all owners. `codes` omits the values
 * of domains that are off. `values` has them, because stored records keep them.
 */
function collectFamilies(
  owners: Contracts,
  { flowTypes }: LedgerTypeTable,
  report: ReportError,
): ReadonlyMap<string, CodedFamily> {
  const declared = joinDeclarations(
    'coded family',
    Object.entries(owners).flatMap(([owner, contract]) =>
      Object.values(contract)
        .filter(isCodedFamily)
        .map((family) => [owner, family.name, family, `codedValues.${family.name}`] as const),
    ),
    report,
  )
  const byNumber = [...flowTypes].toSorted(([, one], [, other]) => one.value - other.value)
  const numbers = Object.fromEntries(byNumber.map(([name, { value }]) => [name, value]))
  const codeDomains: CodeDomains = Object.assign({}, ...Object.values(owners).map(codeDomainsOf))
  return new Map(
    [...declared].map(([name, own]) => {
      const family = name === 'flowType' ? codedFamily(name, numbers) : own
      const isOffered = (code: string): boolean => {
        const domain = name === 'flowType' ? flowTypes.get(code)?.owner : codeDomains[name]?.[code]
        return domain === undefined || Object.hasOwn(owners, domain)
      }
      return [name, { ...family, codes: family.codes.filter(isOffered) }]
    }),
  )
}

function withOrderBodies(contract: object, { orders }: LedgerTypeTable): [name: string, operation: Operation][] {
  const bodies = 'orderBodies' in contract ? (contract.orderBodies as OrderBodies) : {}
  return operationsIn(contract).map(([name, operation]) => {
    const bodyOf = bodies[name]
    return [name, bodyOf ? { ...operation, body: bodyOf(orders) } : operation]
  })
}

function codeDomainsOf(contract: object): CodeDomains {
  return 'codeDomains' in contract ? (contract.codeDomains as CodeDomains) : {}
}

function assertDistinctOperations(domains: Contracts, report: ReportError): void {
  const operations = Object.entries(domains).flatMap(([owner, contract]) =>
    operationsIn(contract).map(([name, operation]) => ({ owner, name, operation })),
  )
  joinDeclarations(
    'operation',
    operations.map(({ owner, name, operation }) => [owner, operation.id, operation, `operations.${name}.id`] as const),
    report,
  )
  joinDeclarations(
    'export name',
    operations.map(({ owner, name, operation }) => [owner, name, operation, `operations.${name}`] as const),
    report,
  )
  joinDeclarations(
    'route',
    operations.flatMap(({ owner, name, operation }) =>
      routesOf(operation).map((route) => [owner, route, operation, `operations.${name}.path`] as const),
    ),
    report,
  )
}

/** Compares complete paths, because a path may begin with the prefix of another chain. */
function routesOf({ method, path, chains: ids }: Operation): string[] {
  return ids.map((id) => `${method} ${chains[id].prefix}${path.replaceAll(/\{\w+\}/g, '{}')}`)
}

function assertPassedAndConfirmed(domains: Contracts, report: ReportError): void {
  for (const [owner, contract] of Object.entries(domains))
    for (const [name, operation] of operationsIn(contract)) {
      const errors = [
        ...passThroughErrors(operation),
        ...operatorKeyErrors(operation).map((message) => ['chains', message] as const),
        ...confirmsErrors(operation).map((message) => ['confirms', message] as const),
        ...purposeErrors(operation).map((message) => ['purpose', message] as const),
      ]
      for (const [field, message] of errors)
        report({ owner, message: `operations.${name}.${field}: ${message}`, declared: operation })
    }
}

function assertKnownRefusals(domains: Contracts, isCode: Catalogue['isCode'], report: ReportError): void {
  for (const [owner, contract] of Object.entries(domains))
    for (const [name, operation] of operationsIn(contract)) {
      const { id, refuses, malformedParam, malformedBody } = operation
      for (const [field, codes] of Object.entries({
        refuses,
        malformedParam: [malformedParam],
        malformedBody: [malformedBody],
      }))
        for (const code of codes)
          if (code !== undefined && !isCode(code)) {
            const cause = `${id} of ${owner} refuses with ${code}, which no owner declares in codes; add it there`
            report({ owner, message: `operations.${name}.${field}: ${cause}`, declared: operation })
          }
    }
}

function assertKnownRateGroups(domains: Contracts, declared: Catalogue['rateGroups'], report: ReportError): void {
  const known: ReadonlySet<string> = new Set([...rateGroups, ...declared.keys()])
  for (const [owner, contract] of Object.entries(domains))
    for (const [name, operation] of operationsIn(contract)) {
      const { id, policy } = operation
      if (!known.has(policy.rate)) {
        const cause = `${id} of ${owner} counts towards the rate group ${policy.rate}, which no owner declares; add it to rateGroups`
        report({ owner, message: `operations.${name}.policy.rate: ${cause}`, declared: operation })
      }
    }
}

/** Also those of order types whose domain records no events: `emits` derives from their moves. */
function typesOfEvents(contracts: Contracts, { orders }: LedgerTypeTable): ReadonlySet<string> {
  return new Set([...Object.values(contracts), ...orders.values()].flatMap((each) => Object.keys(eventsOf(each))))
}

function assertKnownEvents(domains: Contracts, known: ReadonlySet<string>, report: ReportError): void {
  for (const [owner, contract] of Object.entries(domains))
    for (const [name, operation] of operationsIn(contract))
      for (const type of operation.emits ?? [])
        if (!known.has(type)) {
          const cause = `${operation.id} of ${owner} emits ${type}, which no owner declares; add it to events`
          report({ owner, message: `operations.${name}.emits: ${cause}`, declared: operation })
        }
}
