import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Permission,
  type RoleId,
  type RoleType,
  toDate,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'

type Store = Database | Tx

export const workspaceColumns = [
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

export const workspaceById = (store: Store, id: WorkspaceId): Promise<WorkspaceRow | undefined> =>
  store.selectFrom('workspaces').select(workspaceColumns).where('biz_id', '=', id).executeTakeFirst()

/**
 * Holds the workspace's row: whatever changes who its members and owners are takes turns here. Rows that refer
 * to the workspace can still be written meanwhile.
 */
export const lockWorkspace = (tx: Tx, id: WorkspaceId): Promise<WorkspaceRow | undefined> =>
  tx.selectFrom('workspaces').select(workspaceColumns).where('biz_id', '=', id).forNoKeyUpdate().executeTakeFirst()

export interface NewWorkspace {
  id: WorkspaceId
  institutionId: string
  name: string
  timezone: string
  kind: WorkspaceKind
}

/** Undefined where the id is taken: only the seed brings ids of its own. */
export const insertWorkspace = (tx: Tx, made: NewWorkspace, at: Instant): Promise<WorkspaceRow | undefined> =>
  tx
    .insertInto('workspaces')
    .values({
      biz_id: made.id,
      institution_biz_id: made.institutionId,
      entity_biz_id: null,
      workspace_name: made.name,
      workspace_timezone: made.timezone,
      workspace_status: 'ACTIVE',
      workspace_kind: made.kind,
      extra_data: null,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.column('biz_id').doNothing())
    .returning(workspaceColumns)
    .executeTakeFirst()

export interface WorkspaceChanges {
  name?: string | undefined
  timezone?: string | undefined
  extraData?: Record<string, string> | null | undefined
}

export const updateWorkspace = (
  tx: Tx,
  id: WorkspaceId,
  { name, timezone, extraData }: WorkspaceChanges,
  at: Instant,
): Promise<WorkspaceRow> =>
  tx
    .updateTable('workspaces')
    .set({
      updated_at: toDate(at),
      ...(name !== undefined && { workspace_name: name }),
      ...(timezone !== undefined && { workspace_timezone: timezone }),
      ...(extraData !== undefined && { extra_data: extraData && JSON.stringify(extraData) }),
    })
    .where('biz_id', '=', id)
    .returning(workspaceColumns)
    .executeTakeFirstOrThrow()

export interface NewRole {
  id: RoleId
  workspaceId: WorkspaceId
  name: string
  type: RoleType
  permissionCodes: Permission[]
}

/** The roles that a workspace is opened with. */
export const insertRole = async (tx: Tx, made: NewRole, at: Instant): Promise<void> => {
  await tx
    .insertInto('roles')
    .values({
      biz_id: made.id,
      workspace_biz_id: made.workspaceId,
      role_name: made.name,
      description: '',
      role_type: made.type,
      permission_codes: made.permissionCodes,
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .execute()
}

/** Where an account is at home: what its new workspaces take over from it. */
export const accountHome = (
  store: Store,
  id: AccountId,
): Promise<{ institutionId: string; timezone: string } | undefined> =>
  store
    .selectFrom('accounts')
    .select(['institution_biz_id as institutionId', 'default_timezone as timezone'])
    .where('biz_id', '=', id)
    .executeTakeFirst()
