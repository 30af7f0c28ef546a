import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, type RoleId, type RoleType, toDate, type WorkspaceId } from '../../kernel/index.ts'

const columns = [
  'bizId as id',
  'workspaceBizId as workspaceId',
  'roleName as name',
  'description',
  'roleType as type',
  'permissionCodes',
  'suspendedCodes',
  'createdAt',
  'updatedAt',
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
    .where('workspaceBizId', '=', workspaceId)
    .orderBy(sql`role_type = 'OWNER'`, 'desc')
    .orderBy(sql`lower(role_name)`)
    .execute()
}

export function roleById(store: Database | Tx, { workspaceId, id }: RoleKey): Promise<RoleRow | undefined> {
  return store
    .selectFrom('roles')
    .select(columns)
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', id)
    .executeTakeFirst()
}

/** Serializes the change with the recovery of an account, which suspends permissions. */
export function lockRole(tx: Tx, { workspaceId, id }: RoleKey): Promise<RoleRow | undefined> {
  return tx
    .selectFrom('roles')
    .select(columns)
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export function listSuspendedRoles(database: Database, workspaceId: WorkspaceId): Promise<RoleRow[]> {
  return database
    .selectFrom('roles')
    .select(columns)
    .where('workspaceBizId', '=', workspaceId)
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
      bizId: role.id,
      workspaceBizId: role.workspaceId,
      roleName: role.name,
      description: role.description,
      roleType: 'CUSTOM',
      permissionCodes: role.permissionCodes,
      createdAt: toDate(at),
      updatedAt: toDate(at),
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
      updatedAt: toDate(at),
      ...(name !== undefined && { roleName: name }),
      ...(description !== undefined && { description }),
      ...(permissionCodes !== undefined && { permissionCodes: permissionCodes, suspendedCodes: [] }),
    })
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Includes OWNER. */
export async function countRoles(tx: Tx, workspaceId: WorkspaceId): Promise<number> {
  const { total } = await tx
    .selectFrom('roles')
    .where('workspaceBizId', '=', workspaceId)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** Case is ignored. */
export async function isNameTaken(tx: Tx, { workspaceId, id }: RoleKey, name: string): Promise<boolean> {
  const other = await tx
    .selectFrom('roles')
    .select('bizId')
    .where('workspaceBizId', '=', workspaceId)
    .where(sql`lower(role_name)`, '=', sql`lower(${name})`)
    .where('bizId', '!=', id)
    .executeTakeFirst()
  return other !== undefined
}

export async function isInUse(tx: Tx, { workspaceId, id }: RoleKey, at: Instant): Promise<boolean> {
  const held = tx
    .selectFrom('memberships')
    .select('roleBizId')
    .where('workspaceBizId', '=', workspaceId)
    .where('roleBizId', '=', id)
  const offered = tx
    .selectFrom('invitations')
    .select('roleBizId')
    .where('workspaceBizId', '=', workspaceId)
    .where('roleBizId', '=', id)
    .where('invitationStatus', 'in', ['PENDING', 'SUSPENDED'])
    .where('expiresAt', '>', timestamptz(at))
  return (await held.unionAll(offered).limit(1).executeTakeFirst()) !== undefined
}

/** Suspends the pending invitations to a role. */
export async function suspendOffers(tx: Tx, { workspaceId, id }: RoleKey, at: Instant): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ invitationStatus: 'SUSPENDED', updatedAt: toDate(at) })
    .where('workspaceBizId', '=', workspaceId)
    .where('roleBizId', '=', id)
    .where('invitationStatus', '=', 'PENDING')
    .where('expiresAt', '>', timestamptz(at))
    .execute()
}

/** The foreign key prevents the deletion while a member has the role. */
export async function deleteRole(tx: Tx, { workspaceId, id }: RoleKey): Promise<void> {
  await tx.deleteFrom('roles').where('workspaceBizId', '=', workspaceId).where('bizId', '=', id).execute()
}
