import { assertKnownPermissions } from '../../contract/permissions.ts'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  notFound,
  type Permission,
  Refusal,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { addedCodes, assertCustom, assertMayGrant, assertMayReassign } from './rules.ts'
import {
  countRoles,
  deleteRole as deleteRoleRow,
  insertRole,
  isInUse,
  isNameTaken,
  listRoles as listRoleRows,
  type RoleChanges,
  type RoleRow,
  roleById,
  updateRole as updateRoleRow,
} from './store.ts'

export interface RoleMember {
  accountId: AccountId
  workspaceId: WorkspaceId
  roleId: RoleId
  roleType: RoleRow['type']
}

/** Port to the memberships of workspaces. */
export interface MembersPort {
  /** Locks the workspace and refuses if the caller has lost a permission since `access` was read. */
  assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<RoleMember | undefined>
  /** Refuses with WORKSPACE.LAST_OWNER if no owner would remain. */
  assign(tx: Tx, member: RoleMember, role: Pick<RoleMember, 'roleId' | 'roleType'>, at: Instant): Promise<void>
}

export interface RolePorts {
  database: Database
  ids: Ids
  members: MembersPort
  /** All workspace permissions. */
  permissions: readonly Permission[]
  settings: { maxPerWorkspace: number }
}

/** The caller, and their access to the workspace. */
export interface RoleContext {
  auditContext: AuditContext
  access: WorkspaceAccess
}

const assertFound = (role: RoleRow | undefined): RoleRow => {
  if (!role) throw notFound('no such role in this workspace')
  return role
}

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

/** For the audit log: the permissions that the role grants. */
const grantDetail = (permissionCodes: readonly string[]) => ({ permissions: permissionCodes.toSorted().join(',') })

/** Returns the roles of a workspace. OWNER comes first. */
export const listRoles = ({ database }: RolePorts, workspaceId: WorkspaceId): Promise<RoleRow[]> =>
  listRoleRows(database, workspaceId)

/** Returns a role of the workspace. */
export const readRole = async ({ database }: RolePorts, workspaceId: WorkspaceId, id: RoleId): Promise<RoleRow> =>
  assertFound(await roleById(database, { workspaceId, id }))

export interface CreateRoleInput {
  name: string
  description: string
  permissionCodes: string[]
}

/** Creates a custom role. The caller must hold its permissions. */
export const createRole = async (
  { database, ids, members, permissions, settings }: RolePorts,
  input: CreateRoleInput,
  { auditContext, access }: RoleContext,
): Promise<RoleRow> => {
  assertKnownPermissions(input.permissionCodes, permissions)
  assertMayGrant(access, { type: 'CUSTOM', permissionCodes: input.permissionCodes })
  return inTransaction(database, async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    if ((await countRoles(tx, access.id)) >= settings.maxPerWorkspace)
      throw conflict('the workspace has the maximum number of roles')
    const role = await insertRole(tx, { ...input, workspaceId: access.id, id: ids.next<'role'>() }, auditContext.at)
    if (!role) throw conflict('another role has this name')
    const detail = grantDetail(role.permissionCodes)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: role.id, detail })
    return role
  })
}

/** Changes a custom role while its workspace is locked. */
const changeRole = <T>(
  { database, members }: RolePorts,
  id: RoleId,
  { auditContext, access }: RoleContext,
  change: (tx: Tx, role: RoleRow) => Promise<T>,
  detail: Record<string, string> = {},
): Promise<T> =>
  inTransaction(database, async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    const role = assertFound(await roleById(tx, { workspaceId: access.id, id }))
    assertCustom(role)
    const result = await change(tx, role)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: id, detail })
    return result
  })

/** Changes the name or description of a custom role. */
export const updateRole = (
  ports: RolePorts,
  { id, ...changes }: Pick<RoleChanges, 'name' | 'description'> & { id: RoleId },
  context: RoleContext,
): Promise<RoleRow> =>
  changeRole(ports, id, context, async (tx, role) => {
    if (changes.name !== undefined && (await isNameTaken(tx, role, changes.name)))
      throw conflict('another role has this name')
    return updateRoleRow(tx, role, changes, context.auditContext.at)
  })

/** Replaces the permissions of a custom role. The caller must hold those that it adds. */
export const setRolePermissions = async (
  ports: RolePorts,
  { id, permissionCodes }: { id: RoleId; permissionCodes: string[] },
  context: RoleContext,
): Promise<RoleRow> => {
  assertKnownPermissions(permissionCodes, ports.permissions)
  const replace = (tx: Tx, role: RoleRow): Promise<RoleRow> => {
    const added = addedCodes(role.permissionCodes, permissionCodes)
    assertMayGrant(context.access, { type: role.type, permissionCodes: added })
    return updateRoleRow(tx, role, { permissionCodes }, context.auditContext.at)
  }
  return changeRole(ports, id, context, replace, grantDetail(permissionCodes))
}

/** Deletes a custom role that no member and no pending invitation uses. */
export const deleteRole = (ports: RolePorts, id: RoleId, context: RoleContext): Promise<void> =>
  changeRole(ports, id, context, async (tx, role) => {
    if (await isInUse(tx, role, context.auditContext.at)) throw conflict('a member or an invitation uses the role')
    await deleteRoleRow(tx, role)
  })

/** Changes the role of a member. Returns the new role. */
export const changeMemberRole = (
  { database, members }: RolePorts,
  { accountId, roleId }: { accountId: AccountId; roleId: RoleId },
  { auditContext, access }: RoleContext,
): Promise<RoleRow> =>
  inTransaction(database, async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    const role = assertFound(await roleById(tx, { workspaceId: access.id, id: roleId }))
    const member = await members.find(tx, accountId, access.id)
    if (!member) throw notFound('no such member of this workspace')
    assertMayReassign(access, member.roleType)
    assertMayGrant(access, role)
    await members.assign(tx, member, { roleId: role.id, roleType: role.type }, auditContext.at)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: accountId, detail: { role: roleId } })
    return role
  })
