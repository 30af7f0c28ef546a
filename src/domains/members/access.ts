import type { Database } from '../../database/index.ts'
import {
  bizId,
  type Caller,
  isBizId,
  type Permission,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { findDefault, isEnterable, type MembershipFacts, parseLimits } from './rules.ts'
import { firstMembershipOf, type MembershipRow, membershipIn, membershipsOf } from './store.ts'

/** Derives a member's access to a workspace from the role and the limits of the membership. */
export class AccessRules {
  readonly #all: ReadonlySet<Permission>
  readonly #reads: ReadonlySet<Permission>

  /** @param permissions every workspace permission that exists */
  constructor(permissions: readonly Permission[]) {
    this.#all = new Set(permissions)
    this.#reads = new Set(permissions.filter((code) => code.endsWith(':read')))
  }

  /** Owners hold every permission. Codes that no longer exist are dropped. */
  accessOf({ workspaceId, roleType, permissionCodes, policyConfig }: MembershipFacts): WorkspaceAccess {
    const isOwner = roleType === 'OWNER'
    const held = isOwner ? this.#all : this.#all.intersection(new Set(permissionCodes))
    const permissions = parseLimits(policyConfig).readOnly ? held.intersection(this.#reads) : held
    return { id: workspaceId, isOwner, permissions }
  }
}

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

const findNamed = (database: Database, caller: Caller, id: string): Promise<MembershipRow | undefined> =>
  isBizId(id)
    ? membershipIn(database, caller.accountId, bizId<'workspace'>(id) satisfies WorkspaceId)
    : Promise.resolve(undefined)

const readDefault = async (database: Database, caller: Caller): Promise<MembershipRow> => {
  const first = await firstMembershipOf(database, caller.accountId)
  if (first?.isDefault) return first
  const found = first && findDefault(await membershipsOf(database, caller.accountId))
  if (!found) throw new Refusal('ACCESS.WORKSPACE_REQUIRED', { internal: 'no workspace may be the default' })
  return found
}

export interface AccessPorts {
  database: Database
  rules: AccessRules
}

/**
 * A caller's access to the named workspace, or to the default one for null. Reads the store on every call: the gateway
 * decides how long a result is cached (docs/decisions/0008). Unknown, foreign and malformed ids get the same refusal.
 */
export const enterWorkspace = async (
  { database, rules }: AccessPorts,
  caller: Caller,
  workspaceId: string | null,
): Promise<WorkspaceAccess> => {
  const membership = await (workspaceId === null
    ? readDefault(database, caller)
    : findNamed(database, caller, workspaceId))
  if (!membership) throw denied('not a member of this workspace')
  if (!isEnterable(membership)) throw denied('the workspace cannot be entered')
  return rules.accessOf(membership)
}
