import type { Generated } from 'kysely'
import { sqlMigration, type Timestamp } from '../../database/index.ts'

interface UnnamedBlobsTable {
  blobKey: string
  dueAt: Timestamp
  isDoomed: Generated<boolean>
}

declare module '../../database/tables.ts' {
  interface Tables {
    unnamed_blobs: UnnamedBlobsTable
  }
}

/**
 * A key is recorded before its blob is written. The cleanup marks a due key before it deletes the blob, so that no row
 * can reference it in between (docs/decisions/0036-unreferenced-blobs.md).
 */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE unnamed_blobs (
      blob_key text PRIMARY KEY,
      due_at timestamptz NOT NULL,
      is_doomed boolean NOT NULL DEFAULT false
    )`,
    `CREATE INDEX unnamed_blobs_due ON unnamed_blobs (due_at)`,
  ]),
]
