import { type Selectable, sql } from 'kysely'
import { type Database, readPage, type Tables, type Tx, timestamptz } from '../../database/index.ts'
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
  'bizId',
  'workspaceBizId',
  'exportType',
  'format',
  'filters',
  'blobKey',
  'fileName',
  'rowCount',
  'sizeBytes',
  'sha256',
  'failureCode',
  'createdBy',
  'createdAt',
  'completedAt',
  'expiresAt',
] as const

export type ExportRow = Pick<Selectable<Tables['exports']>, (typeof columns)[number] | 'exportStatus'>

/** Only its creator can read the export of a login history. */
export interface Viewer {
  workspace: WorkspaceId
  account: AccountId
  at: Instant
}

export type NewExport = Pick<
  ExportRow,
  'bizId' | 'workspaceBizId' | 'exportType' | 'format' | 'createdBy' | 'createdAt'
> & {
  filters: object
}

export function insertExport(tx: Tx, created: NewExport): Promise<ExportRow> {
  return tx
    .insertInto('exports')
    .values({
      workspaceBizId: created.workspaceBizId,
      bizId: created.bizId,
      exportType: created.exportType,
      format: created.format,
      filters: JSON.stringify(created.filters),
      exportStatus: 'QUEUED',
      runBizId: null,
      blobKey: null,
      fileName: null,
      rowCount: null,
      sizeBytes: null,
      sha256: null,
      failureCode: null,
      createdBy: created.createdBy,
      createdAt: toDate(created.createdAt),
    })
    .returning([...columns, 'exportStatus'])
    .executeTakeFirstOrThrow()
}

export function exportById(store: Store, viewer: Viewer, id: string): Promise<ExportRow | undefined> {
  return visible(store, viewer)
    .where('bizId', '=', id)
    .select(columns)
    .select(statusAt(viewer.at).as('exportStatus'))
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

const sortColumns = { createdAt: 'createdAt', completedAt: 'completedAt' } as const

export function listExports(store: Store, viewer: Viewer, query: ExportQuery): Promise<Page<ExportRow>> {
  const status = statusAt(viewer.at)
  let found = visible(store, viewer)
  if (query.type) found = found.where('exportType', '=', query.type)
  if (query.status) found = found.where(status, '=', query.status)
  if (query.from !== undefined) found = found.where('createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('createdAt', '<=', timestamptz(query.to))
  const ordered = found
    .select(columns)
    .select(status.as('exportStatus'))
    .orderBy(sortColumns[query.sortBy], (order) => (query.sortOrder === 'asc' ? order.asc() : order.desc().nullsLast()))
    .orderBy('bizId', query.sortOrder)
  return readPage(found, ordered, query)
}

/** Returns the keys of the blobs. */
export async function deleteExportsOf(tx: Tx, workspace: WorkspaceId): Promise<string[]> {
  const deleted = await tx.deleteFrom('exports').where('workspaceBizId', '=', workspace).returning('blobKey').execute()
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
  let found = store.selectFrom('login_history').where('accountBizId', '=', account)
  if (from !== undefined) found = found.where('loginAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('loginAt', '<=', timestamptz(to))
  return found
    .select(['bizId', 'loginAt as createdAt', 'clientIp', 'userAgent'])
    .select(['loginResult', 'failureReason'])
    .orderBy('loginAt')
    .orderBy('bizId')
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
    .set({ exportStatus: 'RUNNING', runBizId: runId, rowCount: 0 })
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', exportId)
    .where('exportStatus', 'in', ['QUEUED', 'RUNNING'])
    .returning(['exportType as type', 'filters', 'format', 'createdBy as account', 'createdAt'])
    .executeTakeFirst()
  return row && { ...row, workspace: workspaceId }
}

/** Returns false if a later attempt has started or the export has ended. */
export async function recordProgress(database: Database, run: Run, rowCount: number): Promise<boolean> {
  const updated = await updateRun(database, run).set({ rowCount: rowCount }).returning('bizId').executeTakeFirst()
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
      exportStatus: 'COMPLETED',
      blobKey: result.blobKey,
      fileName: result.fileName,
      rowCount: result.rowCount,
      sizeBytes: result.sizeBytes,
      sha256: result.sha256,
      completedAt: toDate(result.at),
      expiresAt: toDate(result.expiresAt),
    })
    .returning('bizId')
    .executeTakeFirst()
  return updated !== undefined
}

/** Does nothing if a later attempt has started or the export has ended. */
export async function failRun(database: Database, run: Run, failureCode: string): Promise<void> {
  await updateRun(database, run).set({ exportStatus: 'FAILED', failureCode: failureCode }).execute()
}

/** Marks exports past `expires_at` as EXPIRED. Returns the keys of their blobs. */
export async function expireExports(tx: Tx, at: Instant): Promise<string[]> {
  const rows = await tx
    .updateTable('exports')
    .from(
      tx
        .selectFrom('exports')
        .select(['workspaceBizId', 'bizId', 'blobKey'])
        .where('exportStatus', '=', 'COMPLETED')
        .where('expiresAt', '<=', timestamptz(at))
        .as('overdue'),
    )
    .set({ exportStatus: 'EXPIRED', blobKey: null })
    .whereRef('exports.workspaceBizId', '=', 'overdue.workspaceBizId')
    .whereRef('exports.bizId', '=', 'overdue.bizId')
    .where('exports.exportStatus', '=', 'COMPLETED')
    .returning('overdue.blobKey')
    .execute()
  return rows.flatMap(({ blobKey }) => blobKey ?? [])
}

function visible(store: Store, { workspace, account }: Viewer) {
  return store
    .selectFrom('exports')
    .where('workspaceBizId', '=', workspace)
    .where((eb) => eb.or([eb('exportType', '!=', 'LOGIN_HISTORY'), eb('createdBy', '=', account)]))
}

/** A completed export past its expiry is EXPIRED, even if no job has stored that status yet. */
function statusAt(at: Instant) {
  return sql<ExportRow['exportStatus']>`CASE
  WHEN export_status = 'COMPLETED' AND expires_at <= ${timestamptz(at)} THEN 'EXPIRED' ELSE export_status END`
}

function updateRun(database: Database | Tx, { workspaceId, exportId, runId }: Run) {
  return database
    .updateTable('exports')
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', exportId)
    .where('runBizId', '=', runId)
    .where('exportStatus', '=', 'RUNNING')
}
