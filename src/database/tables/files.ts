import type { Generated } from 'kysely'
import type { ExportFormat, ExportStatus, ExportType } from '../../domains/exports/contract.ts'
import type { FilePurpose, FileStatus } from '../../domains/files/contract.ts'
import type { AccountId, WorkspaceId } from '../../kernel/index.ts'
import type { Json, NullableTimestamp, Timestamp } from './columns.ts'

export interface FilesTable {
  workspace_biz_id: WorkspaceId
  biz_id: string
  blob_key: string
  file_name: string
  content_type: string
  size_bytes: number
  /** Hex. */
  sha256: string
  purpose: FilePurpose
  file_status: FileStatus
  created_by: AccountId
  created_at: Timestamp
}

export interface ExportsTable {
  workspace_biz_id: WorkspaceId
  biz_id: string
  export_type: ExportType
  format: ExportFormat
  filters: Json
  export_status: ExportStatus
  /** The attempt that may write to this row. */
  run_biz_id: string | null
  blob_key: string | null
  file_name: string | null
  row_count: number | null
  size_bytes: number | null
  sha256: string | null
  failure_code: string | null
  created_by: AccountId
  created_at: Timestamp
  completed_at: NullableTimestamp
  expires_at: NullableTimestamp
}

export interface UnnamedBlobsTable {
  blob_key: string
  due_at: Timestamp
  is_doomed: Generated<boolean>
}

export interface JobsTable {
  biz_id: string
  kind: string
  payload: Json
  every_ms: number | null
  status: 'WAITING' | 'LEASED' | 'FAILED'
  attempts: Generated<number>
  run_at: Timestamp
  lease_biz_id: string | null
  lease_until: NullableTimestamp
  failure: string | null
  created_at: Timestamp
}

export interface FileTables {
  files: FilesTable
  unnamed_blobs: UnnamedBlobsTable
  exports: ExportsTable
  jobs: JobsTable
}
