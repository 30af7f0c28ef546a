import { sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, WorkspaceId } from '../../kernel/index.ts'
import type { FilePurpose, FileStatus } from './contract.ts'

interface FilesTable {
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

declare module '../../database/tables.ts' {
  interface Tables {
    files: FilesTable
  }
}

/** Metadata of uploaded files. The blob store holds their content under `blob_key`. */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE files (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      blob_key text NOT NULL UNIQUE,
      file_name text NOT NULL,
      content_type text NOT NULL,
      size_bytes bigint NOT NULL CHECK (size_bytes > 0),
      sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
      purpose text NOT NULL,
      file_status text NOT NULL CHECK (file_status IN ('AVAILABLE', 'DELETED')),
      created_by uuid NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`,
  ]),
]
