/*
 * The catalogue: it joins the contract files of all owners, and throws at start-up if two owners declare the same name.
 * The other files of this folder are building blocks for contract files. They import the kernel only and run in a browser.
 * Start reading with `fields.ts` and `policies.ts`.
 */
import * as apiKeys from '../domains/api-keys/contract.ts'
import * as constants from '../domains/constants/contract.ts'
import * as exchanges from '../domains/exchanges/contract.ts'
import * as exports from '../domains/exports/contract.ts'
import * as files from '../domains/files/contract.ts'
import * as invitations from '../domains/invitations/contract.ts'
import * as members from '../domains/members/contract.ts'
import * as operators from '../domains/operators/contract.ts'
import * as profile from '../domains/profile/contract.ts'
import * as recharges from '../domains/recharges/contract.ts'
import * as roles from '../domains/roles/contract.ts'
import * as sandbox from '../domains/sandbox/contract.ts'
import * as transfers from '../domains/transfers/contract.ts'
import * as wallets from '../domains/wallets/contract.ts'
import * as withdrawalChannels from '../domains/withdrawal-channels/contract.ts'
import * as withdrawals from '../domains/withdrawals/contract.ts'
import * as workspaces from '../domains/workspaces/contract.ts'
import * as ipWhitelist from '../identity/ip-whitelist/contract.ts'
import * as auth from '../identity/login/contract.ts'
import * as mfa from '../identity/mfa/contract.ts'
import * as password from '../identity/passwords/contract.ts'
import * as registration from '../identity/registration/contract.ts'
import * as secureChannel from '../identity/secure-channel/contract.ts'
import * as sessions from '../identity/sessions/contract.ts'
import * as kernel from '../kernel/coded-values.ts'
import {
  type Code,
  type CodedFamily,
  type CodeTable,
  domainOf,
  isCodedFamily,
  type Operation,
  operationsIn,
  type Permission,
  pipelineCodes,
} from '../kernel/index.ts'
import * as ledger from '../ledger/contract.ts'
import {
  assertDeclaredPermissions,
  collectPermissions,
  joinDeclarations,
  type PermissionList,
  type PermissionRow,
} from './permissions.ts'

/** The contract file of each resource. */
export const resources = {
  secureChannel,
  auth,
  registration,
  password,
  mfa,
  sessions,
  ipWhitelist,
  profile,
  invitations,
  roles,
  apiKeys,
  workspaces,
  members,
  exchanges,
  recharges,
  transfers,
  withdrawalChannels,
  withdrawals,
  wallets,
  files,
  exports,
  constants,
  sandbox,
  operators,
}

const domainOrder = Object.keys(resources)
const orderOf = ({ id }: Operation): number => domainOrder.indexOf(domainOf(id))

/** Each operation under its export name, by the domain of its id: `operators.*` is declared by several owners. */
export const namedOperations = Object.values(resources)
  .flatMap(operationsIn)
  .sort(([, a], [, b]) => orderOf(a) - orderOf(b))

export const catalogue: readonly Operation[] = namedOperations.map(([, operation]) => operation)

/** Resources that the gateway serves itself and never forwards. */
const servedByGateway = new Set(['secureChannel', 'auth', 'registration', 'password', 'mfa', 'sessions', 'ipWhitelist'])

export const isRoutable = (domain: string): boolean => !servedByGateway.has(domain)

/** The domains that the configuration can place behind HTTP. */
export const routableDomains: readonly string[] = [...new Set(catalogue.map(({ id }) => domainOf(id)))].filter(
  isRoutable,
)

const owners: Readonly<Record<string, object>> = { kernel, ledger, ...resources }

/** Every family of coded values, by its name. */
export const codedFamilies: ReadonlyMap<string, CodedFamily> = joinDeclarations(
  'coded family',
  Object.entries(owners).flatMap(([owner, contract]) =>
    Object.values(contract)
      .filter(isCodedFamily)
      .map((family) => [owner, family.name, family] as const),
  ),
)

/** Every permission in order: those of a workspace's roles, and those of operators. */
export const permissionTable = {
  workspace: collectPermissions(owners, 'workspace'),
  operator: collectPermissions(owners, 'operator'),
}

const codesIn = (rows: readonly PermissionRow[]): readonly Permission[] => rows.map(({ code }) => code)

export const workspacePermissions = codesIn(permissionTable.workspace)
export const operatorPermissions = codesIn(permissionTable.operator)
/** The workspace permissions that an API key can hold. */
export const apiKeyPermissions = codesIn(permissionTable.workspace.filter(({ isPeopleOnly }) => !isPeopleOnly))

/** The lists that `permissionCodes` of a contract file names. */
export const permissionLists: Readonly<Record<PermissionList, readonly Permission[]>> = {
  workspacePermissions,
  apiKeyPermissions,
}

assertDeclaredPermissions(resources, { workspacePermissions, operatorPermissions })

const tableOf = (contract: object): CodeTable => ('codes' in contract ? (contract.codes as CodeTable) : {})

const statuses: ReadonlyMap<string, number> = joinDeclarations(
  'refusal code',
  Object.entries({ pipeline: { codes: pipelineCodes }, ...owners }).flatMap(([owner, contract]) =>
    Object.entries(tableOf(contract)).map(([code, { status }]) => [owner, code, status] as const),
  ),
)

/** Every refusal code. */
export const codes: readonly Code[] = [...statuses.keys()].filter((code) => isCode(code))

export function isCode(text: string): text is Code {
  return statuses.has(text)
}

/** The HTTP status of a refusal code. */
export const statusOf = (code: Code): number => statuses.get(code) ?? 500

/** The code as users/self reports it: the HTTP status followed by a zero, 4010 for 401. */
export const numericCode = (code: Code): string => `${statusOf(code)}0`

/** The description of each OpenAPI tag, by domain. */
export const summaries: ReadonlyMap<string, string> = new Map(
  Object.entries(resources).flatMap(([name, contract]) => ('summary' in contract ? [[name, contract.summary]] : [])),
)
