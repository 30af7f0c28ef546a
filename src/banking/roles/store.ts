import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, type RoleId, type RoleType, toDate, type WorkspaceId } from '../../kernel/index.ts'

const columns = [
  'biz_id as id',
  'workspace_biz_id as workspaceId',
  'role_name as name',
  'description',
  'role_type as type',
  'permission_codes as permissionCodes',
  'suspended_codes as suspendedCodes',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const

export interface RoleRow {
  id: RoleId
  workspaceId: WorkspaceId
  name: string
  description: string
  type: RoleType
  permissionCodes: string[]
  /** Give nothing until they are restored. */
  suspendedCodes: string[]
  createdAt: Instant
  updatedAt: Instant
}

export interface RoleKey {
  workspaceId: WorkspaceId
  id: RoleId
}

export function listRoles(database: Database, workspaceId: WorkspaceId): Promise<RoleRow[]> {
  return database
    .selectFrom('roles')
    .select(columns)
    .where('workspace_biz_id', '=', workspaceId)
    .orderBy(sql`role_type = 'OWNER'`, 'desc')
    .orderBy(sql`lower(role_name)`)
    .execute()
}

export function roleById(store: Database | Tx, { workspaceId, id }: RoleKey): Promise<RoleRow | undefined> {
  return store
    .selectFrom('roles')
    .select(columns)
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .executeTakeFirst()
}

/** Serializes the change with the recovery of an account, which suspends permissions. */
export function lockRole(tx: Tx, { workspaceId, id }: RoleKey): Promise<RoleRow | undefined> {
  return tx
    .selectFrom('roles')
    .select(columns)
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export function listSuspendedRoles(database: Database, workspaceId: WorkspaceId): Promise<RoleRow[]> {
  return database
    .selectFrom('roles')
    .select(columns)
    .where('workspace_biz_id', '=', workspaceId)
    .where(sql<boolean>`suspended_codes <> '{}'`)
    .orderBy(sql`lower(role_name)`)
    .execute()
}

export interface NewRole extends RoleKey {
  name: string
  description: string
  permissionCodes: string[]
}

/** Returns undefined if the name is taken. Case is ignored. */
export function insertRole(tx: Tx, role: NewRole, at: Instant): Promise<RoleRow | undefined> {
  return tx
    .insertInto('roles')
    .values({
      biz_id: role.id,
      workspace_biz_id: role.workspaceId,
      role_name: role.name,
      description: role.description,
      role_type: 'CUSTOM',
      permission_codes: role.permissionCodes,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(columns)
    .executeTakeFirst()
}

export interface RoleChanges {
  name?: string | undefined
  description?: string | undefined
  permissionCodes?: string[] | undefined
}

/** An undefined field is not changed. New permissions replace the suspended ones, too. */
export function updateRole(
  tx: Tx,
  { workspaceId, id }: RoleKey,
  { name, description, permissionCodes }: RoleChanges,
  at: Instant,
): Promise<RoleRow> {
  return tx
    .updateTable('roles')
    .set({
      updated_at: toDate(at),
      ...(name !== undefined && { role_name: name }),
      ...(description !== undefined && { description }),
      ...(permissionCodes !== undefined && { permission_codes: permissionCodes, suspended_codes: [] }),
    })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Includes OWNER. */
export async function countRoles(tx: Tx, workspaceId: WorkspaceId): Promise<number> {
  const { total } = await tx
    .selectFrom('roles')
    .where('workspace_biz_id', '=', workspaceId)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** Case is ignored. */
export async function isNameTaken(tx: Tx, { workspaceId, id }: RoleKey, name: string): Promise<boolean> {
  const other = await tx
    .selectFrom('roles')
    .select('biz_id')
    .where('workspace_biz_id', '=', workspaceId)
    .where(sql`lower(role_name)`, '=', sql`lower(${name})`)
    .where('biz_id', '!=', id)
    .executeTakeFirst()
  return other !== undefined
}

export async function isInUse(tx: Tx, { workspaceId, id }: RoleKey, at: Instant): Promise<boolean> {
  const held = tx
    .selectFrom('memberships')
    .select('role_biz_id')
    .where('workspace_biz_id', '=', workspaceId)
    .where('role_biz_id', '=', id)
  const offered = tx
    .selectFrom('invitations')
    .select('role_biz_id')
    .where('workspace_biz_id', '=', workspaceId)
    .where('role_biz_id', '=', id)
    .where('invitation_status', 'in', ['PENDING', 'SUSPENDED'])
    .where('expires_at', '>', timestamptz(at))
  return (await held.unionAll(offered).limit(1).executeTakeFirst()) !== undefined
}

/** Suspends the pending invitations to a role. */
export async function suspendOffers(tx: Tx, { workspaceId, id }: RoleKey, at: Instant): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ invitation_status: 'SUSPENDED', updated_at: toDate(at) })
    .where('workspace_biz_id', '=', workspaceId)
    .where('role_biz_id', '=', id)
    .where('invitation_status', '=', 'PENDING')
    .where('expires_at', '>', timestamptz(at))
    .execute()
}

/** The foreign key prevents the deletion while a member has the role. */
export async function deleteRole(tx: Tx, { workspaceId, id }: RoleKey): Promise<void> {
  await tx.deleteFrom('roles').where('workspace_biz_id', '=', workspaceId).where('biz_id', '=', id).execute()
}
