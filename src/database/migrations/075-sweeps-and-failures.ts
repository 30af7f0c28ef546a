import { type Kysely, sql } from 'kysely'

/**
 * All tables at once: a sign-in writes sessions before refresh tokens and a renewal after them, so that whoever waited for the
 * one while its index is made would hold the other, and the migration could never go on.
 */
const locking = [
  'LOCK TABLE sessions, refresh_tokens IN SHARE MODE',
  'LOCK TABLE login_failures IN ACCESS EXCLUSIVE MODE',
]

/** Failures in a row; processes of the version before leave it as it is. */
const counting = 'ALTER TABLE login_failures ADD COLUMN IF NOT EXISTS in_a_row integer NOT NULL DEFAULT 0'

/**
 * What is over is found by its end, among millions of rows that still count. On a large store the indexes may be there already,
 * made without holding up anybody (docs/production.md).
 */
const indexes = [
  `CREATE INDEX IF NOT EXISTS login_failures_window ON login_failures (window_started_at)`,
  `CREATE INDEX IF NOT EXISTS refresh_tokens_expiry ON refresh_tokens (expires_at)`,
  `CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at)`,
]

/** The clock is asked once, in a query of its own: asked of each row, as it is otherwise, it is nothing to look up in an index. */
const forgetting = `
  CREATE OR REPLACE FUNCTION idempotency_cleanup(at timestamptz, most integer) RETURNS bigint LANGUAGE sql AS $$
    WITH gone AS (
      DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency WHERE created_at <= (SELECT least(at, clock_timestamp()) - interval '24 hours')
         ORDER BY created_at LIMIT most FOR UPDATE SKIP LOCKED))
      RETURNING 1)
    SELECT count(*) FROM gone
  $$`

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of [...locking, counting, ...indexes, forgetting]) await sql.raw(statement).execute(database)
}
