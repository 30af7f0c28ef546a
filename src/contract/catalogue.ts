import {
  type Code,
  type CodedFamily,
  type CodeTable,
  chains,
  domainOf,
  isCodedFamily,
  type Operation,
  operationsIn,
  type Permission,
  pipelineCodes,
} from '../kernel/index.ts'
import {
  assertDeclaredPermissions,
  collectPermissions,
  joinDeclarations,
  type PermissionList,
  type PermissionRow,
} from './permissions.ts'

/** The exports of contract files by the name of their owner, such as a domain. */
export type Contracts = Readonly<Record<string, object>>

/** The declarations of all owners in one process. */
export interface Catalogue {
  /** Each operation with its export name, in the order of the domains. */
  readonly namedOperations: readonly (readonly [name: string, operation: Operation])[]
  readonly operations: readonly Operation[]
  /** Every refusal code. */
  readonly codes: readonly Code[]
  isCode(text: string): text is Code
  /** Returns the HTTP status of a refusal code. */
  statusOf(code: Code): number
  /** Returns the code as users/self reports it: the HTTP status followed by a zero, such as 4010 for 401. */
  numericCode(code: Code): string
  /** Every family of coded values, by its name. */
  readonly codedFamilies: ReadonlyMap<string, CodedFamily>
  /** Every permission in order. */
  readonly permissionTable: {
    readonly workspace: readonly PermissionRow[]
    readonly operator: readonly PermissionRow[]
  }
  readonly workspacePermissions: readonly Permission[]
  readonly operatorPermissions: readonly Permission[]
  /** The workspace permissions that an API key can hold. */
  readonly apiKeyPermissions: readonly Permission[]
  /** The lists that `permissionCodes` of a contract file names. */
  readonly permissionLists: Readonly<Record<PermissionList, readonly Permission[]>>
  /** The domains that the configuration can place behind HTTP. */
  readonly routableDomains: readonly string[]
  /** Whether the configuration can place a domain behind HTTP. */
  isRoutable(domain: string): boolean
  /** The description of each OpenAPI tag, by domain. */
  readonly summaries: ReadonlyMap<string, string>
}

/** Resources that the gateway serves itself and never forwards. */
const servedByGateway = new Set(['secureChannel', 'auth', 'registration', 'password', 'mfa', 'sessions', 'ipWhitelist'])
const isRoutable = (domain: string): boolean => !servedByGateway.has(domain)

const codesIn = (rows: readonly PermissionRow[]): readonly Permission[] => rows.map(({ code }) => code)
const tableOf = (contract: object): CodeTable => ('codes' in contract ? (contract.codes as CodeTable) : {})

/**
 * Returns the method and whole path of an operation on each chain. Whole paths are compared, because a path on one
 * chain can begin with the prefix of another chain.
 */
const routesOf = ({ method, path, chains: ids }: Operation): string[] =>
  ids.map((id) => `${method} ${chains[id].prefix}${path.replaceAll(/\{\w+\}/g, '{}')}`)

const assertDistinctOperations = (domains: Contracts): void => {
  const operations = Object.entries(domains).flatMap(([owner, contract]) =>
    operationsIn(contract).map(([name, operation]) => ({ owner, name, operation })),
  )
  joinDeclarations(
    'operation',
    operations.map(({ owner, operation }) => [owner, operation.id, operation] as const),
  )
  joinDeclarations(
    'export name',
    operations.map(({ owner, name, operation }) => [owner, name, operation] as const),
  )
  joinDeclarations(
    'route',
    operations.flatMap(({ owner, operation }) =>
      routesOf(operation).map((route) => [owner, route, operation] as const),
    ),
  )
}

const assertKnownRefusals = (domains: Contracts, isCode: (text: string) => boolean): void => {
  for (const [owner, contract] of Object.entries(domains))
    for (const [, { id, refuses, malformedParam, malformedBody }] of operationsIn(contract))
      for (const code of [...refuses, malformedParam, malformedBody])
        if (code !== undefined && !isCode(code))
          throw new TypeError(`${id} of ${owner} refuses with ${code}, which no owner declares`)
}

/**
 * Joins the contract files of `domains` and of the `shared` owners, which have no operations. Throws a TypeError if two
 * owners declare the same operation, export name, route, code, permission or family of coded values; the error names
 * both owners. Also throws if an operation uses an undeclared code or permission; the error names the operation.
 */
export const buildCatalogue = (shared: Contracts, domains: Contracts): Catalogue => {
  const order = Object.keys(domains)
  const reserved = order.find((name) => name === 'pipeline' || Object.hasOwn(shared, name))
  if (reserved !== undefined) throw new TypeError(`the name ${reserved} is used twice`)
  const positionOf = ({ id }: Operation): number => order.indexOf(domainOf(id))
  // `operators.*` is declared by several owners.
  const namedOperations = Object.values(domains)
    .flatMap(operationsIn)
    .sort(([, a], [, b]) => positionOf(a) - positionOf(b))
  const operations = namedOperations.map(([, operation]) => operation)
  const owners: Contracts = { pipeline: { codes: pipelineCodes }, ...shared, ...domains }
  const permissionTable = {
    workspace: collectPermissions(owners, 'workspace'),
    operator: collectPermissions(owners, 'operator'),
  }
  const workspacePermissions = codesIn(permissionTable.workspace)
  const operatorPermissions = codesIn(permissionTable.operator)
  const apiKeyPermissions = codesIn(permissionTable.workspace.filter(({ isPeopleOnly }) => !isPeopleOnly))
  const statuses = joinDeclarations(
    'refusal code',
    Object.entries(owners).flatMap(([owner, contract]) =>
      Object.entries(tableOf(contract)).map(([code, { status }]) => [owner, code, status] as const),
    ),
  )
  const isCode = (text: string): text is Code => statuses.has(text)
  const statusOf = (code: Code): number => statuses.get(code) ?? 500
  assertDistinctOperations(domains)
  assertDeclaredPermissions(domains, { workspacePermissions, operatorPermissions })
  assertKnownRefusals(domains, isCode)
  return {
    namedOperations,
    operations,
    codes: [...statuses.keys()].filter(isCode),
    isCode,
    statusOf,
    numericCode: (code) => `${statusOf(code)}0`,
    codedFamilies: joinDeclarations(
      'coded family',
      Object.entries(owners).flatMap(([owner, contract]) =>
        Object.values(contract)
          .filter(isCodedFamily)
          .map((family) => [owner, family.name, family] as const),
      ),
    ),
    permissionTable,
    workspacePermissions,
    operatorPermissions,
    apiKeyPermissions,
    permissionLists: { workspacePermissions, apiKeyPermissions },
    routableDomains: [...new Set(operations.map(({ id }) => domainOf(id)))].filter(isRoutable),
    isRoutable,
    summaries: new Map(
      Object.entries(domains).flatMap(([name, contract]) =>
        'summary' in contract && typeof contract.summary === 'string' ? [[name, contract.summary]] : [],
      ),
    ),
  }
}
