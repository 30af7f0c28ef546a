import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNotices } from '../../api/notices.ts'
import { assertKnownPermissions } from '../../contract/permissions.ts'
import type { Database, Tx } from '../../database/index.ts'
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
import { addedCodes, assertCustom, assertMayGrant, assertMayReassign, type Grant, noticeKindOf } from './rules.ts'
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
  permissionCodes: readonly string[]
  ownerSince: Instant | null
}

/** Memberships implements and documents these methods. */
export interface MembersPort {
  assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<RoleMember | undefined>
  assertMayGrant(tx: Tx, actor: Pick<RoleMember, 'accountId' | 'workspaceId'>, grant: Grant, at: Instant): Promise<void>
  assertMayDemote(tx: Tx, actor: AccountId, other: RoleMember, at: Instant): Promise<void>
  assign(tx: Tx, member: RoleMember, role: Pick<RoleMember, 'roleId' | 'roleType'>, at: Instant): Promise<void>
}

export interface RolePorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  members: MembersPort
  notices: OwnerNotices
  permissions: readonly Permission[]
  settings: { maxPerWorkspace: number }
}

export interface RoleContext {
  auditContext: AuditContext
  access: WorkspaceAccess
}

const assertFound = (role: RoleRow | undefined): RoleRow => {
  if (!role) throw notFound('no such role in this workspace')
  return role
}

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

/** For the audit log. */
const grantDetail = (permissionCodes: readonly string[]) => ({ permissions: permissionCodes.toSorted().join(',') })

export const listRoles = ({ database }: RolePorts, workspaceId: WorkspaceId): Promise<RoleRow[]> =>
  listRoleRows(database, workspaceId)

export const readRole = async ({ database }: RolePorts, workspaceId: WorkspaceId, id: RoleId): Promise<RoleRow> =>
  assertFound(await roleById(database, { workspaceId, id }))

export interface CreateRoleInput {
  name: string
  description: string
  permissionCodes: string[]
}

/** The caller must hold the permissions. */
export const createRole = async (
  { transaction, ids, members, permissions, settings }: RolePorts,
  input: CreateRoleInput,
  { auditContext, access }: RoleContext,
): Promise<RoleRow> => {
  assertKnownPermissions(input.permissionCodes, permissions)
  assertMayGrant(access, { type: 'CUSTOM', permissionCodes: input.permissionCodes })
  return transaction(async (tx) => {
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

/** Locks the workspace. */
const changeRole = <T>(
  { transaction, members }: RolePorts,
  id: RoleId,
  { auditContext, access }: RoleContext,
  change: (tx: Tx, role: RoleRow) => Promise<T>,
  detail: Record<string, string> = {},
): Promise<T> =>
  transaction(async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    const role = assertFound(await roleById(tx, { workspaceId: access.id, id }))
    assertCustom(role)
    const result = await change(tx, role)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: id, detail })
    return result
  })

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

/** The caller must hold the added permissions. */
export const setRolePermissions = async (
  ports: RolePorts,
  { id, permissionCodes }: { id: RoleId; permissionCodes: string[] },
  context: RoleContext,
): Promise<RoleRow> => {
  assertKnownPermissions(permissionCodes, ports.permissions)
  const { access, auditContext } = context
  const { accountId: actorId, at } = auditContext
  const actor = { accountId: actorId, workspaceId: access.id }
  const replace = async (tx: Tx, role: RoleRow): Promise<RoleRow> => {
    const added = addedCodes(role.permissionCodes, permissionCodes)
    const grant = { type: role.type, permissionCodes: added }
    assertMayGrant(access, grant)
    await ports.members.assertMayGrant(tx, actor, grant, at)
    if (added.length > 0) {
      const notice = { kind: 'ROLE_WIDENED', workspaceId: role.workspaceId, actorId, about: role.name, at } as const
      await ports.notices.queue(tx, notice)
    }
    return updateRoleRow(tx, role, { permissionCodes }, at)
  }
  return changeRole(ports, id, context, replace, grantDetail(permissionCodes))
}

export const deleteRole = (ports: RolePorts, id: RoleId, context: RoleContext): Promise<void> =>
  changeRole(ports, id, context, async (tx, role) => {
    if (await isInUse(tx, role, context.auditContext.at)) throw conflict('a member or an invitation uses the role')
    await deleteRoleRow(tx, role)
  })

export const changeMemberRole = (
  { transaction, members, notices }: RolePorts,
  { accountId, roleId }: { accountId: AccountId; roleId: RoleId },
  { auditContext, access }: RoleContext,
): Promise<RoleRow> =>
  transaction(async (tx) => {
    await members.assertAccess(tx, auditContext.accountId, access)
    const role = assertFound(await roleById(tx, { workspaceId: access.id, id: roleId }))
    const member = await members.find(tx, accountId, access.id)
    if (!member) throw notFound('no such member of this workspace')
    assertMayReassign(access, member.roleType)
    assertMayGrant(access, role)
    const actor = { accountId: auditContext.accountId, workspaceId: access.id }
    await members.assertMayGrant(tx, actor, role, auditContext.at)
    if (role.type !== 'OWNER') await members.assertMayDemote(tx, auditContext.accountId, member, auditContext.at)
    await members.assign(tx, member, { roleId: role.id, roleType: role.type }, auditContext.at)
    const kind = noticeKindOf({ type: member.roleType, permissionCodes: member.permissionCodes }, role)
    if (kind) {
      const { accountId: actorId, at } = auditContext
      await notices.queue(tx, { kind, workspaceId: access.id, actorId, memberId: accountId, at })
    }
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: accountId, detail: { role: roleId } })
    return role
  })
