import * as z from 'zod'
import { invalid, operationsIn, type Permission } from '../kernel/index.ts'
import { uniqueList } from './fields.ts'

/**
 * Joins the declarations of several owners into one table by name. Throws if two owners declare the same name, and names
 * both. `kind` describes the declarations in that error.
 */
export const joinDeclarations = <T>(
  kind: string,
  declarations: readonly (readonly [owner: string, name: string, value: T])[],
): ReadonlyMap<string, T> => {
  const owners = new Map<string, string>()
  const all = new Map<string, T>()
  for (const [owner, name, value] of declarations) {
    const other = owners.get(name)
    if (other !== undefined) throw new TypeError(`${kind} ${name} is declared by ${other} and by ${owner}`)
    owners.set(name, owner)
    all.set(name, value)
  }
  return all
}

/** The permissions of one group, such as `role`: each action is a permission `<group>:<action>`. */
export interface PermissionGroup {
  /** Position of the first action in the permission table. The others follow it one by one. */
  readonly sortOrder: number
  readonly actions: readonly string[]
  /** Actions that an API key cannot hold, because they change permissions. */
  readonly peopleOnly?: readonly string[]
}

/**
 * The permissions that an owner declares in its `contract.ts`: those of a workspace's roles and those of operators.
 * Their names and descriptions are in config/locales under `permission.<code>`.
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
}

const rowsOf = (groups: Readonly<Record<string, PermissionGroup>>): PermissionRow[] =>
  Object.entries(groups).flatMap(([group, { sortOrder, actions, peopleOnly = [] }]) =>
    actions.map((action, index) => ({
      code: `${group}:${action}` as const,
      group,
      action,
      sortOrder: sortOrder + index,
      isPeopleOnly: peopleOnly.includes(action),
    })),
  )

const permissionsOf = (contract: object): Permissions =>
  'permissions' in contract ? (contract.permissions as Permissions) : {}

/** Returns all permissions of a scope in order. Throws if two owners declare the same one. */
export const collectPermissions = (
  contracts: Readonly<Record<string, object>>,
  scope: keyof Permissions,
): readonly PermissionRow[] => {
  const declared = Object.entries(contracts).flatMap(([owner, contract]) =>
    rowsOf(permissionsOf(contract)[scope] ?? {}).map((row) => [owner, row.code, row] as const),
  )
  return [...joinDeclarations(`${scope} permission`, declared).values()].sort((a, b) => a.sortOrder - b.sortOrder)
}

/**
 * Throws if a policy requires a permission that no owner declares. Operations outside a workspace require permissions of
 * operators.
 */
export const assertDeclaredPermissions = (
  contracts: Readonly<Record<string, object>>,
  declared: { workspacePermissions: readonly Permission[]; operatorPermissions: readonly Permission[] },
): void => {
  for (const [owner, contract] of Object.entries(contracts))
    for (const [, { id, policy }] of operationsIn(contract)) {
      const list = policy.workspace === 'none' ? 'operatorPermissions' : 'workspacePermissions'
      if (policy.permission !== null && !declared[list].includes(policy.permission))
        throw new TypeError(`${id} of ${owner} requires ${policy.permission}, which no owner declares in ${list}`)
    }
}

/** The lists of permission codes in requests. The OpenAPI document names the codes, taken from the catalogue. */
export type PermissionList = 'workspacePermissions' | 'apiKeyPermissions'

const maxCodes = 500
const maxCodeLength = 128

/**
 * Returns the schema of a list of distinct permission codes in a request. Contract files do not know the permissions of
 * other owners, so the service checks with `assertKnownPermissions` whether the codes exist.
 */
export const permissionCodes = (list: PermissionList, min = 0) => {
  const codes = uniqueList(z.string().max(maxCodeLength), maxCodes)
  return (min > 0 ? codes.min(min) : codes).meta({ title: list })
}

/**
 * Throws for a list with an unknown code. The refusal is that of validation: it names the field and the index of the
 * first unknown code.
 */
export const assertKnownPermissions = (codes: readonly string[], known: readonly Permission[]): void => {
  const all: ReadonlySet<string> = new Set(known)
  const index = codes.findIndex((code) => !all.has(code))
  if (index >= 0) throw invalid(`permissionCodes.${index}`, 'an unknown permission')
}
