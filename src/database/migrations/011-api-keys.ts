import { type Kysely, sql } from 'kysely'

/** Keys of the second chain. The secret is kept as a keyed digest alone. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE api_keys (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      api_key_name text NOT NULL,
      key_prefix text NOT NULL UNIQUE,
      key_last4 text NOT NULL,
      secret_digest bytea NOT NULL,
      api_key_status text NOT NULL CHECK (api_key_status IN ('ACTIVE', 'DISABLED', 'DELETED')),
      permission_codes text[] NOT NULL,
      ip_allowlist text[] NOT NULL,
      expires_at timestamptz,
      last_used_at timestamptz,
      last_used_ip text,
      created_by uuid NOT NULL REFERENCES accounts,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`.execute(database)
  await sql`
    CREATE UNIQUE INDEX api_keys_name ON api_keys (workspace_biz_id, lower(api_key_name))
      WHERE api_key_status <> 'DELETED'`.execute(database)
  await sql`CREATE INDEX api_keys_list ON api_keys (workspace_biz_id, created_at)`.execute(database)
}
