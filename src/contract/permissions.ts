import * as z from 'zod'
import {
  chains,
  domainOf,
  invalid,
  needsApiKey,
  type Operation,
  operationsIn,
  type Permission,
  type ReportError,
  type RoleType,
  throwError,
} from '../kernel/index.ts'
import { uniqueList } from './fields.ts'

/** Roles of operators at their creation, and of groups at an identity provider. */
export const operatorRoleNames = ['administrator', 'auditor', 'approver', 'confirmer', 'verifier', 'settler'] as const
export type OperatorRole = (typeof operatorRoleNames)[number]

/** `field` is the path of the name in the owner's declaration, such as `codes.LOAN.NOT_ELIGIBLE`. */
export type Declaration<T> = readonly [owner: string, name: string, value: T, field: string]

/** Reports names that two owners declare, with the field and the call site of the second one. The first stays. */
export function joinDeclarations<T>(
  kind: string,
  declarations: readonly Declaration<T>[],
  report: ReportError = throwError,
): ReadonlyMap<string, T> {
  const owners = new Map<string, string>()
  const all = new Map<string, T>()
  for (const [owner, name, value, field] of declarations) {
    const other = owners.get(name)
    if (other === undefined) {
      owners.set(name, owner)
      all.set(name, value)
    } else
      report({
        owner,
        message: `${field}: ${kind} ${name} is declared by ${other} and by ${owner}; choose another one`,
        declared: value,
      })
  }
  return all
}

/** Actions of a permission group with special rules. */
export interface PermissionMarks {
  /** API keys cannot hold these. */
  readonly peopleOnly?: readonly string[] | undefined
  /** These give power over people, money or secrets. Granting one needs a step-up. */
  readonly powers?: readonly string[] | undefined
  /**
   * These move money out of a workspace. Each is also a power. A member who gains one cannot use it for
   * `access.payoutHoldMs`.
   */
  readonly payouts?: readonly string[] | undefined
}

export const permissionMarks = ['peopleOnly', 'powers', 'payouts'] as const satisfies (keyof PermissionMarks)[]

/** Returns the marks of some actions of a group, without empty lists. */
export function marksOf(
  marks: PermissionMarks,
  isIncluded: (action: string) => boolean = () => true,
): { [Mark in keyof PermissionMarks]?: string[] } {
  return Object.fromEntries(
    permissionMarks.flatMap((mark) => {
      const actions = marks[mark]?.filter(isIncluded) ?? []
      return actions.length > 0 ? [[mark, actions]] : []
    }),
  )
}

/** The permissions of one group, such as `role`: each action is a permission `<group>:<action>`. */
export interface PermissionGroup extends PermissionMarks {
  /** Position in the permission table. The group's other actions follow directly. */
  readonly sortOrder: number
  readonly actions: readonly string[]
}

/**
 * Permissions of workspace roles and of operators. Their texts are in the owner's locales under `permission.<code>`.
 */
export interface Permissions {
  readonly workspace?: Readonly<Record<string, PermissionGroup>>
  readonly operator?: Readonly<Record<string, PermissionGroup>>
}

export interface PermissionRow {
  code: Permission
  group: string
  action: string
  sortOrder: number
  isPeopleOnly: boolean
  isPower: boolean
  isPayout: boolean
}

export function collectPermissions(
  contracts: Readonly<Record<string, object>>,
  scope: keyof Permissions,
  report: ReportError = throwError,
): readonly PermissionRow[] {
  const declared = Object.entries(contracts).flatMap(([owner, contract]) =>
    rowsOf(permissionsOf(contract)[scope] ?? {}).map(
      (row) => [owner, row.code, row, `permissions.${scope}.${row.group}`] as const,
    ),
  )
  return [...joinDeclarations(`${scope} permission`, declared, report).values()].sort(
    (a, b) => a.sortOrder - b.sortOrder,
  )
}

/** Operations outside a workspace require permissions of operators. */
export function assertDeclaredPermissions(
  contracts: Readonly<Record<string, object>>,
  declared: { workspacePermissions: readonly Permission[]; operatorPermissions: readonly Permission[] },
  report: ReportError = throwError,
): void {
  for (const [owner, contract] of Object.entries(contracts))
    for (const [name, operation] of operationsIn(contract)) {
      const { id, policy } = operation
      const scope = policy.workspace === 'none' ? 'operator' : 'workspace'
      if (policy.permission !== null && !declared[`${scope}Permissions`].includes(policy.permission)) {
        const cause = `${id} of ${owner} requires ${policy.permission}, which no owner declares in permissions.${scope}; add it there`
        report({ owner, message: `operations.${name}.policy.permission: ${cause}`, declared: operation })
      }
    }
}

/** A key that holds it belongs to one identity provider, and holds nothing else. */
export const provisioningPermission = 'provisioning:manage'

/** The permissions that API keys of operators can hold. They act without a person, so they only read, or provision. */
export const operatorKeyPermissions = ['audit:read', provisioningPermission] as const satisfies readonly Permission[]

/** Returns what an operation on the machine chain of operators must not be: only permissions limit its callers. */
export function operatorKeyErrors({ id, method, chains: ids, policy, protocol }: Operation): string[] {
  const isServed = ids.some((chainId) => needsApiKey(chains[chainId]))
  if (protocol !== undefined && (domainOf(id) !== 'provisioning' || ids.length > 1 || !isServed))
    return [`of ${protocol} must be systemApi only, for an operation of provisioning`]
  if (!isServed) return []
  const { caller, workspace, permission, stepUp } = policy
  const isOfOperators = caller === 'account' && workspace === 'none' && stepUp === false
  // Only provisioning writes, and a key that provisions reads nothing else.
  if (protocol === undefined ? method === 'GET' && permission === 'audit:read' : permission === provisioningPermission)
    if (isOfOperators) return []
  const allowed = `a read of operators that requires audit:read, or a SCIM operation that requires ${provisioningPermission}`
  return [`on systemApi must be ${allowed}`]
}

/** OpenAPI takes the codes from the catalogue. */
export type PermissionList =
  | 'workspacePermissions'
  | 'apiKeyPermissions'
  | 'operatorPermissions'
  | 'operatorKeyPermissions'

const maxCodes = 500
const maxCodeLength = 128

/**
 * Contract files do not know the permissions of other owners. The service calls `assertKnownPermissions`.
 */
export function permissionCodes(list: PermissionList, min = 0) {
  const codes = uniqueList(z.string().max(maxCodeLength), maxCodes)
  return (min > 0 ? codes.min(min) : codes).meta({ title: list })
}

/** Throws the same refusal as validation, with the index of the unknown code. */
export function assertKnownPermissions(codes: readonly string[], known: readonly Permission[]): void {
  const all: ReadonlySet<string> = new Set(known)
  const index = codes.findIndex((code) => !all.has(code))
  if (index >= 0) throw invalid(`permissionCodes.${index}`, 'an unknown permission')
}

/** The permissions of a role. OWNER has all permissions. */
export interface Grant {
  readonly roleType: RoleType
  readonly permissionCodes: readonly string[]
}

function rowsOf(groups: Readonly<Record<string, PermissionGroup>>): PermissionRow[] {
  return Object.entries(groups).flatMap(([group, { sortOrder, actions, peopleOnly = [], powers = [], payouts = [] }]) =>
    actions.map((action, index) => ({
      code: `${group}:${action}` as const,
      group,
      action,
      sortOrder: sortOrder + index,
      isPeopleOnly: peopleOnly.includes(action),
      isPower: [...powers, ...payouts].includes(action),
      isPayout: payouts.includes(action),
    })),
  )
}

function permissionsOf(contract: object): Permissions {
  return 'permissions' in contract ? (contract.permissions as Permissions) : {}
}
