import { type Kysely, sql } from 'kysely'

/**
 * Work in the background (docs/decisions): a row is waiting, or leased to one replica until `lease_until`. What is done
 * is deleted; a job with `every_ms` waits for its next time instead, and there is one such job of a kind.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE jobs (
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
    )`.execute(database)
  await sql`CREATE INDEX jobs_due ON jobs (run_at) WHERE status <> 'FAILED'`.execute(database)
  await sql`CREATE UNIQUE INDEX jobs_recurring ON jobs (kind) WHERE every_ms IS NOT NULL`.execute(database)
}
