import type { Generated } from 'kysely'
import { sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, WorkspaceId } from '../../kernel/index.ts'
import type { FilePurpose, FileStatus } from './contract.ts'

interface FilesTable {
  workspaceBizId: WorkspaceId
  bizId: string
  blobKey: string
  fileName: string
  contentType: string
  sizeBytes: number
  /** Hex. */
  sha256: string
  purpose: FilePurpose
  fileStatus: FileStatus
  /** A proof cannot be deleted. */
  isProof: Generated<boolean>
  createdBy: AccountId
  createdAt: Timestamp
}

interface FileUsageTable {
  scope: 'ACCOUNT' | 'WORKSPACE'
  ownerBizId: string
  files: number
  bytes: number
  /** The UTC day of `day_files` and `day_bytes`. */
  day: string
  dayFiles: number
  dayBytes: number
}

declare module '../../database/tables.ts' {
  interface Tables {
    files: FilesTable
    file_usage: FileUsageTable
  }
}

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
      is_proof boolean NOT NULL DEFAULT false,
      created_by uuid NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`,
    `CREATE TABLE file_usage (
      scope text NOT NULL CHECK (scope IN ('ACCOUNT', 'WORKSPACE')),
      owner_biz_id uuid NOT NULL,
      files bigint NOT NULL,
      bytes bigint NOT NULL,
      day text NOT NULL,
      day_files bigint NOT NULL,
      day_bytes bigint NOT NULL,
      PRIMARY KEY (scope, owner_biz_id)
    )`,
  ]),
]
