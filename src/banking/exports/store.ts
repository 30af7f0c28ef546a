import { sql } from 'kysely'
import { type Database, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Page,
  type PageRequest,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { ExportFormat, ExportStatus, ExportType } from './contract.ts'
import type { ExportScope } from './source.ts'

type Store = Database | Tx

const columns = [
  'biz_id as id',
  'workspace_biz_id as workspaceId',
  'export_type as type',
  'format',
  'filters',
  'blob_key as blobKey',
  'file_name as fileName',
  'row_count as rowCount',
  'size_bytes as sizeBytes',
  'sha256',
  'failure_code as failureCode',
  'created_by as createdBy',
  'created_at as createdAt',
  'completed_at as completedAt',
  'expires_at as expiresAt',
] as const

export interface ExportRow {
  id: string
  workspaceId: WorkspaceId
  type: ExportType
  format: ExportFormat
  filters: unknown
  status: ExportStatus
  blobKey: string | null
  fileName: string | null
  rowCount: number | null
  sizeBytes: number | null
  /** Hex. */
  sha256: string | null
  failureCode: string | null
  createdBy: AccountId
  createdAt: Instant
  completedAt: Instant | null
  expiresAt: Instant | null
}

/** Only its creator can read the export of a login history. */
export interface Viewer {
  workspace: WorkspaceId
  account: AccountId
  at: Instant
}

export type NewExport = Pick<ExportRow, 'id' | 'workspaceId' | 'type' | 'format' | 'createdBy' | 'createdAt'> & {
  filters: object
}

export function insertExport(tx: Tx, created: NewExport): Promise<ExportRow> {
  return tx
    .insertInto('exports')
    .values({
      workspace_biz_id: created.workspaceId,
      biz_id: created.id,
      export_type: created.type,
      format: created.format,
      filters: JSON.stringify(created.filters),
      export_status: 'QUEUED',
      run_biz_id: null,
      blob_key: null,
      file_name: null,
      row_count: null,
      size_bytes: null,
      sha256: null,
      failure_code: null,
      created_by: created.createdBy,
      created_at: toDate(created.createdAt),
    })
    .returning([...columns, 'export_status as status'])
    .executeTakeFirstOrThrow()
}

export function exportById(store: Store, viewer: Viewer, id: string): Promise<ExportRow | undefined> {
  return visible(store, viewer)
    .where('biz_id', '=', id)
    .select(columns)
    .select(statusAt(viewer.at).as('status'))
    .executeTakeFirst()
}

export interface ExportQuery extends PageRequest {
  type?: ExportType | undefined
  status?: ExportStatus | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'completedAt'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', completedAt: 'completed_at' } as const

export function listExports(store: Store, viewer: Viewer, query: ExportQuery): Promise<Page<ExportRow>> {
  const status = statusAt(viewer.at)
  let found = visible(store, viewer)
  if (query.type) found = found.where('export_type', '=', query.type)
  if (query.status) found = found.where(status, '=', query.status)
  if (query.from !== undefined) found = found.where('created_at', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('created_at', '<=', timestamptz(query.to))
  const ordered = found
    .select(columns)
    .select(status.as('status'))
    .orderBy(sortColumns[query.sortBy], (order) => (query.sortOrder === 'asc' ? order.asc() : order.desc().nullsLast()))
    .orderBy('biz_id', query.sortOrder)
  return readPage(found, ordered, query)
}

/** Returns the keys of the blobs. */
export async function deleteExportsOf(tx: Tx, workspace: WorkspaceId): Promise<string[]> {
  const deleted = await tx
    .deleteFrom('exports')
    .where('workspace_biz_id', '=', workspace)
    .returning('blob_key as blobKey')
    .execute()
  return deleted.flatMap(({ blobKey }) => blobKey ?? [])
}

export interface LoginQuery {
  account: AccountId
  from: Instant | undefined
  to: Instant | undefined
  currentPage: number
  pageSize: number
}

/** Identity owns the table. */
export function readLogins(store: Store, { account, from, to, currentPage, pageSize }: LoginQuery) {
  let found = store.selectFrom('login_history').where('account_biz_id', '=', account)
  if (from !== undefined) found = found.where('login_at', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('login_at', '<=', timestamptz(to))
  return found
    .select(['biz_id as bizId', 'login_at as createdAt', 'client_ip as clientIp', 'user_agent as userAgent'])
    .select(['login_result as loginResult', 'failure_reason as failureReason'])
    .orderBy('login_at')
    .orderBy('biz_id')
    .limit(pageSize)
    .offset((currentPage - 1) * pageSize)
    .execute()
}

/** Only the latest attempt can update the row. */
export interface Run {
  workspaceId: WorkspaceId
  exportId: string
  runId: string
}

/** Assigns the row to this attempt. Returns undefined if the export has ended. */
export async function beginRun(
  database: Database,
  { workspaceId, exportId, runId }: Run,
): Promise<(ExportScope & { format: ExportFormat; createdAt: Instant }) | undefined> {
  const row = await database
    .updateTable('exports')
    .set({ export_status: 'RUNNING', run_biz_id: runId, row_count: 0 })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', exportId)
    .where('export_status', 'in', ['QUEUED', 'RUNNING'])
    .returning(['export_type as type', 'filters', 'format', 'created_by as account', 'created_at as createdAt'])
    .executeTakeFirst()
  return row && { ...row, workspace: workspaceId }
}

/** Returns false if a later attempt has started or the export has ended. */
export async function recordProgress(database: Database, run: Run, rowCount: number): Promise<boolean> {
  const updated = await updateRun(database, run).set({ row_count: rowCount }).returning('biz_id').executeTakeFirst()
  return updated !== undefined
}

export interface Completed {
  blobKey: string
  fileName: string
  rowCount: number
  sizeBytes: number
  sha256: string
  at: Instant
  expiresAt: Instant
}

/** Returns false if a later attempt has started or the export has ended. */
export async function completeRun(tx: Tx, run: Run, result: Completed): Promise<boolean> {
  const updated = await updateRun(tx, run)
    .set({
      export_status: 'COMPLETED',
      blob_key: result.blobKey,
      file_name: result.fileName,
      row_count: result.rowCount,
      size_bytes: result.sizeBytes,
      sha256: result.sha256,
      completed_at: toDate(result.at),
      expires_at: toDate(result.expiresAt),
    })
    .returning('biz_id')
    .executeTakeFirst()
  return updated !== undefined
}

/** Does nothing if a later attempt has started or the export has ended. */
export async function failRun(database: Database, run: Run, failureCode: string): Promise<void> {
  await updateRun(database, run).set({ export_status: 'FAILED', failure_code: failureCode }).execute()
}

/** Marks exports past `expires_at` as EXPIRED. Returns the keys of their blobs. */
export async function expireExports(tx: Tx, at: Instant): Promise<string[]> {
  const rows = await tx
    .updateTable('exports')
    .from(
      tx
        .selectFrom('exports')
        .select(['workspace_biz_id', 'biz_id', 'blob_key'])
        .where('export_status', '=', 'COMPLETED')
        .where('expires_at', '<=', timestamptz(at))
        .as('overdue'),
    )
    .set({ export_status: 'EXPIRED', blob_key: null })
    .whereRef('exports.workspace_biz_id', '=', 'overdue.workspace_biz_id')
    .whereRef('exports.biz_id', '=', 'overdue.biz_id')
    .where('exports.export_status', '=', 'COMPLETED')
    .returning('overdue.blob_key as blobKey')
    .execute()
  return rows.flatMap(({ blobKey }) => blobKey ?? [])
}

function visible(store: Store, { workspace, account }: Viewer) {
  return store
    .selectFrom('exports')
    .where('workspace_biz_id', '=', workspace)
    .where((eb) => eb.or([eb('export_type', '!=', 'LOGIN_HISTORY'), eb('created_by', '=', account)]))
}

/** A completed export past its expiry is EXPIRED, even if no job has stored that status yet. */
function statusAt(at: Instant) {
  return sql<ExportRow['status']>`CASE
  WHEN export_status = 'COMPLETED' AND expires_at <= ${timestamptz(at)} THEN 'EXPIRED' ELSE export_status END`
}

function updateRun(database: Database | Tx, { workspaceId, exportId, runId }: Run) {
  return database
    .updateTable('exports')
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', exportId)
    .where('run_biz_id', '=', runId)
    .where('export_status', '=', 'RUNNING')
}
