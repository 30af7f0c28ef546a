import { type Kysely, sql } from 'kysely'

/**
 * The audit log: written in the transaction of the act that it tells of, never changed after. `sequence` and the
 * hashes are filled in afterwards, in commit order, by the one job that seals the chain.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE audit_log (
      biz_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      at timestamptz NOT NULL,
      portal text NOT NULL,
      actor_biz_id uuid,
      workspace_biz_id uuid,
      action text NOT NULL,
      target_biz_id text,
      outcome text NOT NULL CHECK (outcome IN ('SUCCESS', 'REFUSED')),
      request_id text NOT NULL,
      client_ip text NOT NULL,
      detail jsonb NOT NULL DEFAULT '{}',
      sequence bigint UNIQUE,
      previous_hash bytea,
      hash bytea
    )`.execute(database)
  await sql`CREATE INDEX audit_log_unsealed ON audit_log (at) WHERE sequence IS NULL`.execute(database)
  await sql`CREATE INDEX audit_log_at ON audit_log (at)`.execute(database)
}
