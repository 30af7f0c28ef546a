import { type Json, type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, WorkspaceId } from '../../kernel/index.ts'
import type { ExportFormat, ExportStatus, ExportType } from './contract.ts'

interface ExportsTable {
  workspaceBizId: WorkspaceId
  bizId: string
  exportType: ExportType
  format: ExportFormat
  filters: Json
  exportStatus: ExportStatus
  runBizId: string | null
  blobKey: string | null
  fileName: string | null
  rowCount: number | null
  sizeBytes: number | null
  sha256: string | null
  failureCode: string | null
  createdBy: AccountId
  createdAt: Timestamp
  completedAt: NullableTimestamp
  expiresAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    exports: ExportsTable
  }
}

/** Exports of lists. Only the attempt in `run_biz_id` can update the row. A later attempt replaces that id. */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE exports (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      export_type text NOT NULL,
      format text NOT NULL CHECK (format IN ('CSV', 'XLSX', 'JSONL')),
      filters jsonb NOT NULL,
      export_status text NOT NULL CHECK (export_status IN ('QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'EXPIRED')),
      run_biz_id uuid,
      blob_key text UNIQUE,
      file_name text,
      row_count bigint,
      size_bytes bigint,
      sha256 text,
      failure_code text,
      created_by uuid NOT NULL,
      created_at timestamptz NOT NULL,
      completed_at timestamptz,
      expires_at timestamptz,
      PRIMARY KEY (workspace_biz_id, biz_id),
      CHECK ((export_status = 'COMPLETED') = (blob_key IS NOT NULL))
    )`,
    `CREATE INDEX exports_list ON exports (workspace_biz_id, created_at)`,
    `CREATE INDEX exports_expiry ON exports (expires_at) WHERE export_status = 'COMPLETED'`,
  ]),
]
