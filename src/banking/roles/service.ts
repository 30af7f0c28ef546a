import type { DomainPorts } from '../../api/domain.ts'
import type { GivenPower, OwnerNotices } from '../../api/notices.ts'
import { assertKnownPermissions, type Grant } from '../../contract/permissions.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  type Caller,
  conflict,
  type Ids,
  type Instant,
  type Permission,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { recordGrants } from './grant-store.ts'
import { addedCodes, assertCustom, assertMayReassign, noticeKindOf } from './rules.ts'
import {
  countRoles,
  deleteRole as deleteRoleRow,
  insertRole,
  isInUse,
  isNameTaken,
  listRoles as listRoleRows,
  listSuspendedRoles as listSuspendedRoleRows,
  lockRole,
  type RoleChanges,
  type RoleRow,
  roleById,
  suspendOffers,
  updateRole as updateRoleRow,
} from './store.ts'

interface Grantor {
  caller: Caller
  access: WorkspaceAccess
  at: Instant
}

interface Granted {
  grantedBy: AccountId
  at: Instant
}

export interface RoleMember {
  accountId: AccountId
  workspaceId: WorkspaceId
  roleId: RoleId
  roleType: RoleRow['roleType']
  roleName: string
  permissionCodes: readonly string[]
  ownerSince: Instant | null
}

/** Memberships implements and documents these methods. */
export interface MembersPort {
  assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<RoleMember | undefined>
  powerOf(grant: Grant): GivenPower | undefined
  assertSteppedUpFor(grantor: Omit<Grantor, 'access'>, grant: Grant): void
  assertMayGrant(tx: Tx, grantor: Grantor, grant: Grant): Promise<void>
  assertMayDemote(tx: Tx, actor: AccountId, other: RoleMember, at: Instant): Promise<void>
  assign(tx: Tx, member: RoleMember, role: Grant & { id: RoleId }, granted: Granted): Promise<void>
  recordGained(
    tx: Tx,
    role: { workspaceId: WorkspaceId; roleId: RoleId },
    permissionCodes: readonly string[],
    granted: Granted,
  ): Promise<void>
  remove(tx: Tx, member: RoleMember): Promise<void>
  assertMayRestore(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  restore(tx: Tx, member: RoleMember, role: Grant, granted: Granted): Promise<boolean>
}

export interface RolePorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  members: MembersPort
  /** Locks the caller's account. Throws ACCESS.TOKEN_INVALID if the caller's session has ended. */
  assertSessionOpen(tx: Tx, caller: Caller): Promise<void>
  notices: OwnerNotices
  permissions: readonly Permission[]
  settings: { maxPerWorkspace: number }
}

export interface RoleContext {
  caller: Caller
  auditContext: AuditContext
  access: WorkspaceAccess
}

export function listRoles({ database }: RolePorts, workspaceId: WorkspaceId): Promise<RoleRow[]> {
  return listRoleRows(database, workspaceId)
}

export async function readRole({ database }: RolePorts, workspaceId: WorkspaceId, id: RoleId): Promise<RoleRow> {
  return assertFound(
    await roleById(database, { workspaceBizId: workspaceId, bizId: id }),
    'no such role in this workspace',
  )
}

export interface CreateRoleInput {
  roleName: string
  description: string
  permissionCodes: string[]
}

/** The caller must be able to grant the permissions. */
export async function createRole(ports: RolePorts, input: CreateRoleInput, context: RoleContext): Promise<RoleRow> {
  const { transaction, ids, members, notices, permissions, settings } = ports
  const { auditContext, access } = context
  assertKnownPermissions(input.permissionCodes, permissions)
  const grant = { roleType: 'CUSTOM', permissionCodes: input.permissionCodes } as const
  return transaction(async (tx) => {
    await assertMayChange(ports, tx, context)
    await members.assertMayGrant(tx, grantorOf(context), grant)
    if ((await countRoles(tx, access.id)) >= settings.maxPerWorkspace)
      throw conflict('the workspace has the maximum number of roles')
    const role = await insertRole(
      tx,
      { ...input, workspaceBizId: access.id, bizId: ids.next<'role'>() },
      auditContext.at,
    )
    if (!role) throw conflict('another role has this name', 'roleName')
    await recordGrants(tx, role, role.permissionCodes, grantedBy(context))
    const { accountId: actorId, at } = auditContext
    const gives = members.powerOf(grant)
    if (gives === 'PAYOUT')
      await notices.queue(tx, {
        kind: 'ROLE_CREATED',
        workspaceId: access.id,
        actorId,
        about: role.roleName,
        gives,
        at,
      })
    const detail = grantDetail(role.permissionCodes)
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: role.bizId, detail })
    return role
  })
}

/** A role with a power needs a step-up, because members choose roles by their names. */
export function updateRole(
  ports: RolePorts,
  { id, ...changes }: Pick<RoleChanges, 'roleName' | 'description'> & { id: RoleId },
  context: RoleContext,
): Promise<RoleRow> {
  return changeRole(ports, id, context, async (tx, role) => {
    const { members, notices } = ports
    members.assertSteppedUpFor(grantorOf(context), grantOf(role))
    if (changes.roleName !== undefined && (await isNameTaken(tx, role, changes.roleName)))
      throw conflict('another role has this name', 'roleName')
    const { accountId: actorId, at } = context.auditContext
    const about = `${role.roleName} → ${changes.roleName}`
    const gives = members.powerOf(grantOf(role))
    if (changes.roleName !== undefined && changes.roleName !== role.roleName && gives !== undefined)
      await notices.queue(tx, { kind: 'ROLE_RENAMED', workspaceId: role.workspaceBizId, actorId, about, gives, at })
    return updateRoleRow(tx, role, changes, at)
  })
}

export async function setRolePermissions(
  ports: RolePorts,
  { id, permissionCodes }: { id: RoleId; permissionCodes: string[] },
  context: RoleContext,
): Promise<RoleRow> {
  assertKnownPermissions(permissionCodes, ports.permissions)
  const replace = (tx: Tx, role: RoleRow): Promise<RoleRow> =>
    widenRole(ports, tx, { role, added: addedCodes(role.permissionCodes, permissionCodes), permissionCodes }, context)
  return changeRole(ports, id, context, replace, grantDetail(permissionCodes))
}

export function listSuspendedRoles({ database }: RolePorts, workspaceId: WorkspaceId): Promise<RoleRow[]> {
  return listSuspendedRoleRows(database, workspaceId)
}

/** Throws STATE.CONFLICT if no permissions are suspended. */
export function restoreRole(ports: RolePorts, id: RoleId, context: RoleContext): Promise<RoleRow> {
  return changeRole(ports, id, context, async (tx, role) => {
    const added = role.suspendedCodes
    if (added.length === 0) throw conflict('the role has no suspended permissions')
    await ports.members.assertMayRestore(tx, context.auditContext.accountId, role.workspaceBizId)
    return widenRole(ports, tx, { role, added, permissionCodes: [...role.permissionCodes, ...added] }, context)
  })
}

export function deleteRole(ports: RolePorts, id: RoleId, context: RoleContext): Promise<void> {
  return changeRole(ports, id, context, async (tx, role) => {
    ports.members.assertSteppedUpFor(grantorOf(context), grantOf(role))
    if (await isInUse(tx, role, context.auditContext.at)) throw conflict('a member or an invitation uses the role')
    await deleteRoleRow(tx, role)
  })
}

export function changeMemberRole(
  ports: RolePorts,
  { accountId, roleId }: { accountId: AccountId; roleId: RoleId },
  context: RoleContext,
): Promise<RoleRow> {
  return ports.transaction(async (tx) => {
    const { members, notices } = ports
    const { access, auditContext } = context
    const { accountId: actorId, at } = auditContext
    await assertMayChange(ports, tx, context)
    const role = assertFound(
      await roleById(tx, { workspaceBizId: access.id, bizId: roleId }),
      'no such role in this workspace',
    )
    const member = assertFound(await members.find(tx, accountId, access.id), 'no such member of this workspace')
    assertMayReassign(access, member.roleType)
    await members.assertMayGrant(tx, grantorOf(context), role)
    if (role.roleType !== 'OWNER') await members.assertMayDemote(tx, actorId, member, at)
    await members.assign(tx, member, { ...role, id: role.bizId }, grantedBy(context))
    const kind = noticeKindOf({ roleType: member.roleType, permissionCodes: member.permissionCodes }, role)
    const added = addedCodes(member.permissionCodes, role.permissionCodes)
    const gives = members.powerOf({ roleType: role.roleType, permissionCodes: added })
    if (kind) await notices.queue(tx, { kind, workspaceId: access.id, actorId, memberId: accountId, gives, at })
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: accountId, detail: { role: roleId } })
    return role
  })
}

/**
 * Also ends the API keys and pending invitations of the member in the workspace, by triggers. Throws
 * WORKSPACE.LAST_OWNER, and ACCESS.PAYOUT_HOLD if the caller is a new owner and removes an older one.
 */
export function removeMember(ports: RolePorts, accountId: AccountId, context: RoleContext): Promise<void> {
  return ports.transaction(async (tx) => {
    const { members, notices } = ports
    const { access, auditContext } = context
    const { accountId: actorId, at } = auditContext
    await assertMayChange(ports, tx, context)
    const member = assertFound(await members.find(tx, accountId, access.id), 'no such member of this workspace')
    assertMayReassign(access, member.roleType)
    await members.assertMayDemote(tx, actorId, member, at)
    await members.remove(tx, member)
    const kind = member.roleType === 'OWNER' ? 'OWNER_REMOVED' : 'MEMBER_REMOVED'
    await notices.queue(tx, { kind, workspaceId: access.id, actorId, memberId: accountId, at })
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: accountId })
  })
}

/** Restoring gives the member its role again. Throws STATE.CONFLICT if the member is not suspended. */
export function restoreMember(ports: RolePorts, accountId: AccountId, context: RoleContext): Promise<RoleMember> {
  return ports.transaction(async (tx) => {
    const { access, auditContext } = context
    const { accountId: actorId, at } = auditContext
    await assertMayChange(ports, tx, context)
    await ports.members.assertMayRestore(tx, actorId, access.id)
    const member = assertFound(await ports.members.find(tx, accountId, access.id), 'no such member of this workspace')
    const role = { roleType: member.roleType, permissionCodes: member.permissionCodes }
    await ports.members.assertMayGrant(tx, grantorOf(context), role)
    if (!(await ports.members.restore(tx, member, role, grantedBy(context))))
      throw conflict('the member is not suspended')
    const kind = role.roleType === 'OWNER' ? 'OWNER_ADDED' : 'MEMBER_WIDENED'
    const gives = ports.members.powerOf(role)
    await ports.notices.queue(tx, { kind, workspaceId: access.id, actorId, memberId: accountId, gives, at })
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: accountId })
    return member
  })
}

function grantedBy({ auditContext: { accountId, at } }: RoleContext): Granted {
  return { grantedBy: accountId, at }
}

/** Locks the workspace and the caller's account, against a concurrent recovery of the account. */
async function assertMayChange(
  { members, assertSessionOpen }: RolePorts,
  tx: Tx,
  { caller, access }: RoleContext,
): Promise<void> {
  await members.assertAccess(tx, caller.accountId, access)
  await assertSessionOpen(tx, caller)
}

function grantorOf({ caller, access, auditContext: { at } }: RoleContext): Grantor {
  return { caller, access, at }
}

/** For the audit log. */
function grantDetail(permissionCodes: readonly string[]) {
  return { permissions: permissionCodes.toSorted().join(',') }
}

/** Locks the workspace. */
function changeRole<T>(
  ports: RolePorts,
  id: RoleId,
  context: RoleContext,
  change: (tx: Tx, role: RoleRow) => Promise<T>,
  detail: Record<string, string> = {},
): Promise<T> {
  return ports.transaction(async (tx) => {
    const workspaceId = context.access.id
    await assertMayChange(ports, tx, context)
    const role = assertFound(
      await lockRole(tx, { workspaceBizId: workspaceId, bizId: id }),
      'no such role in this workspace',
    )
    assertCustom(role)
    const result = await change(tx, role)
    await recordSuccess(tx, context.auditContext, { workspaceId, targetId: id, detail })
    return result
  })
}

/** Suspended permissions count, too: they can be restored. */
function grantOf({ roleType: type, permissionCodes, suspendedCodes }: RoleRow): Grant {
  return {
    roleType: type,
    permissionCodes: [...permissionCodes, ...suspendedCodes],
  }
}

/**
 * The caller must be able to grant the added permissions. The members of the role get them, held if they pay out.
 * Pending invitations to a role that gains a power must be confirmed: they were created without it.
 */
async function widenRole(
  { members, notices }: RolePorts,
  tx: Tx,
  { role, added, permissionCodes }: { role: RoleRow; added: readonly string[]; permissionCodes: string[] },
  context: RoleContext,
): Promise<RoleRow> {
  const { workspaceBizId: workspaceId, bizId: id, roleType, roleName: about } = role
  const { accountId: actorId, at } = context.auditContext
  await members.assertMayGrant(tx, grantorOf(context), { roleType, permissionCodes: added })
  await recordGrants(tx, role, added, grantedBy(context))
  await members.recordGained(tx, { workspaceId, roleId: id }, added, grantedBy(context))
  const gives = members.powerOf({ roleType, permissionCodes: added })
  if (gives !== undefined) await suspendOffers(tx, role, at)
  if (added.length > 0) await notices.queue(tx, { kind: 'ROLE_WIDENED', workspaceId, actorId, about, gives, at })
  return updateRoleRow(tx, role, { permissionCodes }, at)
}
