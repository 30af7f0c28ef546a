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

/** Who reads exports, and when. Exports of login histories are visible to their creator only. */
export interface Viewer {
  workspace: WorkspaceId
  account: AccountId
  at: Instant
}

/** A completed export past `expires_at` counts as EXPIRED, even if no job has stored that yet. */
const statusAt = (at: Instant) => sql<ExportRow['status']>`CASE
  WHEN export_status = 'COMPLETED' AND expires_at <= ${timestamptz(at)} THEN 'EXPIRED' ELSE export_status END`

export type NewExport = Pick<ExportRow, 'id' | 'workspaceId' | 'type' | 'format' | 'createdBy' | 'createdAt'> & {
  filters: object
}

export const insertExport = (tx: Tx, made: NewExport): Promise<ExportRow> =>
  tx
    .insertInto('exports')
    .values({
      workspace_biz_id: made.workspaceId,
      biz_id: made.id,
      export_type: made.type,
      format: made.format,
      filters: JSON.stringify(made.filters),
      export_status: 'QUEUED',
      run_biz_id: null,
      blob_key: null,
      file_name: null,
      row_count: null,
      size_bytes: null,
      sha256: null,
      failure_code: null,
      created_by: made.createdBy,
      created_at: toDate(made.createdAt),
    })
    .returning([...columns, 'export_status as status'])
    .executeTakeFirstOrThrow()

const visible = (store: Store, { workspace, account }: Viewer) =>
  store
    .selectFrom('exports')
    .where('workspace_biz_id', '=', workspace)
    .where((eb) => eb.or([eb('export_type', '!=', 'LOGIN_HISTORY'), eb('created_by', '=', account)]))

/** Undefined for an unknown export, one of another workspace, and another person's login history. */
export const exportById = (store: Store, viewer: Viewer, id: string): Promise<ExportRow | undefined> =>
  visible(store, viewer)
    .where('biz_id', '=', id)
    .select(columns)
    .select(statusAt(viewer.at).as('status'))
    .executeTakeFirst()

export interface ExportQuery extends PageRequest {
  type?: ExportType | undefined
  status?: ExportStatus | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'completedAt'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', completedAt: 'completed_at' } as const

export const listExports = (store: Store, viewer: Viewer, query: ExportQuery): Promise<Page<ExportRow>> => {
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

/** Deletes the rows of a workspace's exports; returns the keys of their blobs. */
export const deleteExportsOf = async (tx: Tx, workspace: WorkspaceId): Promise<string[]> => {
  const gone = await tx
    .deleteFrom('exports')
    .where('workspace_biz_id', '=', workspace)
    .returning('blob_key as blobKey')
    .execute()
  return gone.flatMap(({ blobKey }) => blobKey ?? [])
}
