import type { Generated } from 'kysely'
import { type Json, type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'

interface JobsTable {
  bizId: string
  kind: string
  payload: Json
  everyMs: number | null
  status: 'WAITING' | 'LEASED' | 'FAILED'
  attempts: Generated<number>
  runAt: Timestamp
  leaseBizId: string | null
  leaseUntil: NullableTimestamp
  failure: string | null
  createdAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    jobs: JobsTable
  }
}

/**
 * See docs/decisions/0020-jobs-on-the-database.md. A finished job is deleted. A recurring kind (`every_ms`) has a
 * single row, which then waits for the next run.
 */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE jobs (
      biz_id uuid PRIMARY KEY,
      kind text NOT NULL,
      payload jsonb NOT NULL,
      every_ms bigint CHECK (every_ms > 0),
      status text NOT NULL CHECK (status IN ('WAITING', 'LEASED', 'FAILED')),
      attempts integer NOT NULL DEFAULT 0,
      run_at timestamptz NOT NULL,
      lease_biz_id uuid,
      lease_until timestamptz,
      failure text,
      created_at timestamptz NOT NULL,
      CHECK ((status = 'LEASED') = (lease_biz_id IS NOT NULL)),
      CHECK ((lease_biz_id IS NULL) = (lease_until IS NULL))
    )`,
    `CREATE INDEX jobs_due ON jobs (run_at) WHERE status <> 'FAILED'`,
    `CREATE UNIQUE INDEX jobs_recurring ON jobs (kind) WHERE every_ms IS NOT NULL`,
  ]),
  // Workers look for jobs of their kinds only, past the backlog of others.
  sqlMigration('002-kinds', [`CREATE INDEX IF NOT EXISTS jobs_kinds ON jobs (kind, run_at) WHERE status <> 'FAILED'`]),
]
