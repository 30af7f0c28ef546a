import { type Database, findText, readByKeys, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Page,
  type PageRequest,
  type Permission,
  type Portal,
  type RoleId,
  type RoleType,
  toDate,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'
import { recordAs } from '../../platform/events/index.ts'

type Store = Database | Tx

const columns = [
  'bizId as id',
  'institutionBizId as institutionId',
  'entityBizId as entityId',
  'workspaceName as name',
  'workspaceTimezone as timezone',
  'workspaceStatus as status',
  'workspaceKind as kind',
  'extraData',
  'createdAt',
  'updatedAt',
] as const

export interface WorkspaceRow {
  id: WorkspaceId
  institutionId: string
  entityId: string | null
  name: string
  timezone: string
  status: WorkspaceStatus
  kind: WorkspaceKind
  extraData: unknown
  createdAt: Instant
  updatedAt: Instant
}

export function workspaceById(store: Store, id: WorkspaceId): Promise<WorkspaceRow | undefined> {
  return store.selectFrom('workspaces').select(columns).where('bizId', '=', id).executeTakeFirst()
}

/** Returns the workspace as a change recorded it. */
export function workspaceOfRecord(tx: Tx, record: unknown): Promise<WorkspaceRow> {
  return tx
    .selectFrom(recordAs('workspaces', record, 'w'))
    .select(columns)
    .executeTakeFirstOrThrow()
}

export async function hasWorkspace(store: Store, id: WorkspaceId): Promise<boolean> {
  return (await workspaceById(store, id)) !== undefined
}

/** Serializes changes to the members. Rows that reference the workspace can still be inserted. */
export function lockWorkspace(tx: Tx, id: WorkspaceId): Promise<WorkspaceRow | undefined> {
  return tx.selectFrom('workspaces').select(columns).where('bizId', '=', id).forNoKeyUpdate().executeTakeFirst()
}

export interface NewWorkspace {
  id: WorkspaceId
  portal: Portal
  institutionId: string
  name: string
  timezone: string
  kind: WorkspaceKind
}

/** Returns undefined if the id already exists, which only happens with the seed's fixed ids. */
export function insertWorkspace(tx: Tx, workspace: NewWorkspace, at: Instant): Promise<WorkspaceRow | undefined> {
  return tx
    .insertInto('workspaces')
    .values({
      bizId: workspace.id,
      portal: workspace.portal,
      institutionBizId: workspace.institutionId,
      entityBizId: null,
      workspaceName: workspace.name,
      workspaceTimezone: workspace.timezone,
      workspaceStatus: 'ACTIVE',
      workspaceKind: workspace.kind,
      extraData: null,
      createdAt: toDate(at),
      updatedAt: toDate(at),
    })
    .onConflict((conflict) => conflict.column('bizId').doNothing())
    .returning(columns)
    .executeTakeFirst()
}

export interface WorkspaceChanges {
  name?: string | undefined
  timezone?: string | undefined
  extraData?: Record<string, string> | null | undefined
}

/** An undefined field is not changed. */
export function updateWorkspace(
  tx: Tx,
  id: WorkspaceId,
  { name, timezone, extraData }: WorkspaceChanges,
  at: Instant,
): Promise<WorkspaceRow> {
  return tx
    .updateTable('workspaces')
    .set({
      updatedAt: toDate(at),
      ...(name !== undefined && { workspaceName: name }),
      ...(timezone !== undefined && { workspaceTimezone: timezone }),
      ...(extraData !== undefined && { extraData: extraData && JSON.stringify(extraData) }),
    })
    .where('bizId', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

export interface NewRole {
  id: RoleId
  workspaceId: WorkspaceId
  name: string
  type: RoleType
  permissionCodes: Permission[]
}

export async function insertRole(tx: Tx, role: NewRole, at: Instant): Promise<void> {
  await tx
    .insertInto('roles')
    .values({
      bizId: role.id,
      workspaceBizId: role.workspaceId,
      roleName: role.name,
      description: '',
      roleType: role.type,
      permissionCodes: role.permissionCodes,
      createdAt: toDate(at),
      updatedAt: toDate(at),
    })
    .execute()
}

type Home = Pick<NewWorkspace, 'portal' | 'institutionId' | 'timezone'>

export function readAccountDefaults(store: Store, id: AccountId): Promise<Home | undefined> {
  return store
    .selectFrom('accounts')
    .select(['portal', 'institutionBizId as institutionId', 'defaultTimezone as timezone'])
    .where('bizId', '=', id)
    .executeTakeFirst()
}

export function setWorkspaceStatus(
  tx: Tx,
  id: WorkspaceId,
  status: WorkspaceStatus,
  at: Instant,
): Promise<WorkspaceRow> {
  return tx
    .updateTable('workspaces')
    .set({ workspaceStatus: status, updatedAt: toDate(at) })
    .where('bizId', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

export async function freezeOwnWorkspace(tx: Tx, accountId: AccountId, at: Instant): Promise<void> {
  await tx
    .updateTable('workspaces')
    .set({ workspaceStatus: 'FROZEN', updatedAt: toDate(at) })
    .where('bizId', 'in', (eb) =>
      eb
        .selectFrom('memberships')
        .select('workspaceBizId')
        .where('accountBizId', '=', accountId)
        .where('joinSource', '=', 'REGISTRATION'),
    )
    .execute()
}

export interface WorkspaceQuery extends PageRequest {
  status?: WorkspaceStatus | undefined
  kind?: WorkspaceKind | undefined
  /** Part of the name. Case is ignored. */
  name?: string | undefined
  id?: WorkspaceId | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'workspaceName'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'createdAt', updatedAt: 'updatedAt', workspaceName: 'workspaceName' } as const

export async function listWorkspaces(database: Database, query: WorkspaceQuery): Promise<Page<WorkspaceRow>> {
  let found = database.selectFrom('workspaces')
  if (query.status) found = found.where('workspaceStatus', '=', query.status)
  if (query.kind) found = found.where('workspaceKind', '=', query.kind)
  if (query.name)
    found = found.where(await findText(database, { table: 'workspaces', column: 'workspaceName', text: query.name }))
  if (query.id) found = found.where('bizId', '=', query.id)
  if (query.from !== undefined) found = found.where('createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('createdAt', '<=', timestamptz(query.to))
  const sortColumn = sortColumns[query.sortBy]
  const keys = found.select('bizId').orderBy(sortColumn, query.sortOrder).orderBy('bizId', query.sortOrder)
  const sorted = readByKeys(keys, (page) =>
    database
      .selectFrom('workspaces')
      .select(columns)
      .where('bizId', 'in', page)
      .orderBy(sortColumn, query.sortOrder)
      .orderBy('bizId', query.sortOrder),
  )
  return readPage(found, sorted, query)
}
