import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { ExportFormat } from './contract.ts'
import type { ExportScope } from './sources/index.ts'

/** One attempt at an export. Only the latest attempt may update the row. */
export interface Run {
  workspaceId: WorkspaceId
  exportId: string
  runId: string
}

const ownRow = (database: Database | Tx, { workspaceId, exportId, runId }: Run) =>
  database
    .updateTable('exports')
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', exportId)
    .where('run_biz_id', '=', runId)
    .where('export_status', '=', 'RUNNING')

/** Assigns the row to this attempt; undefined if the export has ended. */
export const beginRun = async (
  database: Database,
  { workspaceId, exportId, runId }: Run,
): Promise<(ExportScope & { format: ExportFormat; createdAt: Instant }) | undefined> => {
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

/** False if another attempt has taken over the row. */
export const recordProgress = async (database: Database, run: Run, rowCount: number): Promise<boolean> => {
  const kept = await ownRow(database, run).set({ row_count: rowCount }).returning('biz_id').executeTakeFirst()
  return kept !== undefined
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

/** Stores the result; false if another attempt has taken over the row. */
export const completeRun = async (tx: Tx, run: Run, result: Completed): Promise<boolean> => {
  const done = await ownRow(tx, run)
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
  return done !== undefined
}

export const failRun = async (database: Database, run: Run, failureCode: string): Promise<void> => {
  await ownRow(database, run).set({ export_status: 'FAILED', failure_code: failureCode }).execute()
}

/** Expires the exports past `expires_at`; returns the keys of their blobs. */
export const expireExports = async (tx: Tx, at: Instant): Promise<string[]> => {
  const rows = await tx
    .updateTable('exports')
    .from(
      tx
        .selectFrom('exports')
        .select(['workspace_biz_id', 'biz_id', 'blob_key'])
        .where('export_status', '=', 'COMPLETED')
        .where('expires_at', '<=', timestamptz(at))
        .as('over'),
    )
    .set({ export_status: 'EXPIRED', blob_key: null })
    .whereRef('exports.workspace_biz_id', '=', 'over.workspace_biz_id')
    .whereRef('exports.biz_id', '=', 'over.biz_id')
    .where('exports.export_status', '=', 'COMPLETED')
    .returning('over.blob_key as blobKey')
    .execute()
  return rows.flatMap(({ blobKey }) => blobKey ?? [])
}
