import { type Selectable, sql } from 'kysely'
import { type Database, type Tables, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'
import { recordAs } from '../../platform/events/index.ts'

const columns = [
  'bizId',
  'workspaceBizId',
  'roleName',
  'description',
  'roleType',
  'permissionCodes',
  'suspendedCodes',
  'createdAt',
  'updatedAt',
] as const

export type RoleRow = Pick<Selectable<Tables['roles']>, (typeof columns)[number]>

export type RoleKey = Pick<RoleRow, 'workspaceBizId' | 'bizId'>

export function listRoles(database: Database, workspaceId: WorkspaceId): Promise<RoleRow[]> {
  return database
    .selectFrom('roles')
    .select(columns)
    .where('workspaceBizId', '=', workspaceId)
    .orderBy(sql`role_type = 'OWNER'`, 'desc')
    .orderBy(sql`lower(role_name)`)
    .execute()
}

export function roleById(store: Database | Tx, { workspaceBizId, bizId }: RoleKey): Promise<RoleRow | undefined> {
  return store
    .selectFrom('roles')
    .select(columns)
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .executeTakeFirst()
}

/** Returns the role as a change recorded it. */
export function roleOfRecord(tx: Tx, record: unknown): Promise<RoleRow> {
  return tx
    .selectFrom(recordAs('roles', record, 'r'))
    .select(columns)
    .executeTakeFirstOrThrow()
}

/** Serializes the change with the recovery of an account, which suspends permissions. */
export function lockRole(tx: Tx, { workspaceBizId, bizId }: RoleKey): Promise<RoleRow | undefined> {
  return tx
    .selectFrom('roles')
    .select(columns)
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
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
  roleName: string
  description: string
  permissionCodes: string[]
}

/** Returns undefined if the name is taken. Case is ignored. */
export function insertRole(tx: Tx, role: NewRole, at: Instant): Promise<RoleRow | undefined> {
  return tx
    .insertInto('roles')
    .values({
      bizId: role.bizId,
      workspaceBizId: role.workspaceBizId,
      roleName: role.roleName,
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
  roleName?: string | undefined
  description?: string | undefined
  permissionCodes?: string[] | undefined
}

/** An undefined field is not changed. New permissions replace the suspended ones, too. */
export function updateRole(
  tx: Tx,
  { workspaceBizId, bizId }: RoleKey,
  { roleName, description, permissionCodes }: RoleChanges,
  at: Instant,
): Promise<RoleRow> {
  return tx
    .updateTable('roles')
    .set({
      updatedAt: toDate(at),
      ...(roleName !== undefined && { roleName }),
      ...(description !== undefined && { description }),
      ...(permissionCodes !== undefined && { permissionCodes: permissionCodes, suspendedCodes: [] }),
    })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
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
export async function isNameTaken(tx: Tx, { workspaceBizId, bizId }: RoleKey, name: string): Promise<boolean> {
  const other = await tx
    .selectFrom('roles')
    .select('bizId')
    .where('workspaceBizId', '=', workspaceBizId)
    .where(sql`lower(role_name)`, '=', sql`lower(${name})`)
    .where('bizId', '!=', bizId)
    .executeTakeFirst()
  return other !== undefined
}

export async function isInUse(tx: Tx, { workspaceBizId, bizId }: RoleKey, at: Instant): Promise<boolean> {
  const held = tx
    .selectFrom('memberships')
    .select('roleBizId')
    .where('workspaceBizId', '=', workspaceBizId)
    .where('roleBizId', '=', bizId)
  const offered = tx
    .selectFrom('invitations')
    .select('roleBizId')
    .where('workspaceBizId', '=', workspaceBizId)
    .where('roleBizId', '=', bizId)
    .where('invitationStatus', 'in', ['PENDING', 'SUSPENDED'])
    .where('expiresAt', '>', timestamptz(at))
  return (await held.unionAll(offered).limit(1).executeTakeFirst()) !== undefined
}

/** Suspends the pending invitations to a role. */
export async function suspendOffers(tx: Tx, { workspaceBizId, bizId }: RoleKey, at: Instant): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ invitationStatus: 'SUSPENDED', updatedAt: toDate(at) })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('roleBizId', '=', bizId)
    .where('invitationStatus', '=', 'PENDING')
    .where('expiresAt', '>', timestamptz(at))
    .execute()
}

/** The foreign key prevents the deletion while a member has the role. */
export async function deleteRole(tx: Tx, { workspaceBizId, bizId }: RoleKey): Promise<void> {
  await tx.deleteFrom('roles').where('workspaceBizId', '=', workspaceBizId).where('bizId', '=', bizId).execute()
}
