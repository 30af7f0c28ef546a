import { containsText, type Database, readByKeys, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Page,
  type PageRequest,
  type Permission,
  type RoleId,
  type RoleType,
  toDate,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'

type Store = Database | Tx

const columns = [
  'biz_id as id',
  'institution_biz_id as institutionId',
  'entity_biz_id as entityId',
  'workspace_name as name',
  'workspace_timezone as timezone',
  'workspace_status as status',
  'workspace_kind as kind',
  'extra_data as extraData',
  'created_at as createdAt',
  'updated_at as updatedAt',
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
  return store.selectFrom('workspaces').select(columns).where('biz_id', '=', id).executeTakeFirst()
}

export async function hasWorkspace(store: Store, id: WorkspaceId): Promise<boolean> {
  return (await workspaceById(store, id)) !== undefined
}

/** Serializes changes to the members. Rows that reference the workspace can still be inserted. */
export function lockWorkspace(tx: Tx, id: WorkspaceId): Promise<WorkspaceRow | undefined> {
  return tx.selectFrom('workspaces').select(columns).where('biz_id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

export interface NewWorkspace {
  id: WorkspaceId
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
      biz_id: workspace.id,
      institution_biz_id: workspace.institutionId,
      entity_biz_id: null,
      workspace_name: workspace.name,
      workspace_timezone: workspace.timezone,
      workspace_status: 'ACTIVE',
      workspace_kind: workspace.kind,
      extra_data: null,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.column('biz_id').doNothing())
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
      updated_at: toDate(at),
      ...(name !== undefined && { workspace_name: name }),
      ...(timezone !== undefined && { workspace_timezone: timezone }),
      ...(extraData !== undefined && { extra_data: extraData && JSON.stringify(extraData) }),
    })
    .where('biz_id', '=', id)
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
      biz_id: role.id,
      workspace_biz_id: role.workspaceId,
      role_name: role.name,
      description: '',
      role_type: role.type,
      permission_codes: role.permissionCodes,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .execute()
}

export function readAccountDefaults(
  store: Store,
  id: AccountId,
): Promise<{ institutionId: string; timezone: string } | undefined> {
  return store
    .selectFrom('accounts')
    .select(['institution_biz_id as institutionId', 'default_timezone as timezone'])
    .where('biz_id', '=', id)
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
    .set({ workspace_status: status, updated_at: toDate(at) })
    .where('biz_id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

export async function freezeOwnWorkspace(tx: Tx, accountId: AccountId, at: Instant): Promise<void> {
  await tx
    .updateTable('workspaces')
    .set({ workspace_status: 'FROZEN', updated_at: toDate(at) })
    .where('biz_id', 'in', (eb) =>
      eb
        .selectFrom('memberships')
        .select('workspace_biz_id')
        .where('account_biz_id', '=', accountId)
        .where('join_source', '=', 'REGISTRATION'),
    )
    .execute()
}

export interface WorkspaceQuery extends PageRequest {
  status?: WorkspaceStatus | undefined
  kind?: WorkspaceKind | undefined
  /** Part of the name. Case is ignored. */
  name?: string | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'workspaceName'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', updatedAt: 'updated_at', workspaceName: 'workspace_name' } as const

export function listWorkspaces(database: Database, query: WorkspaceQuery): Promise<Page<WorkspaceRow>> {
  let found = database.selectFrom('workspaces')
  if (query.status) found = found.where('workspace_status', '=', query.status)
  if (query.kind) found = found.where('workspace_kind', '=', query.kind)
  if (query.name) found = found.where(containsText('workspace_name', query.name))
  if (query.from !== undefined) found = found.where('created_at', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('created_at', '<=', timestamptz(query.to))
  const sortColumn = sortColumns[query.sortBy]
  const keys = found.select('biz_id').orderBy(sortColumn, query.sortOrder).orderBy('biz_id', query.sortOrder)
  const sorted = readByKeys(keys, (page) =>
    database
      .selectFrom('workspaces')
      .select(columns)
      .where('biz_id', 'in', page)
      .orderBy(sortColumn, query.sortOrder)
      .orderBy('biz_id', query.sortOrder),
  )
  return readPage(found, sorted, query)
}
