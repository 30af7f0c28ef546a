import { type Kysely, sql } from 'kysely'

/** Registration and what sets a password: an e-mail on its way to an account, and links that are good once. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    ALTER TABLE login_sessions
      ADD COLUMN email text,
      ADD COLUMN email_verified_at timestamptz,
      ADD CHECK ((kind = 'REGISTRATION') = (email IS NOT NULL))`.execute(database)
  await sql`
    CREATE TABLE password_tokens (
      token_digest bytea PRIMARY KEY,
      portal text NOT NULL,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      purpose text NOT NULL CHECK (purpose IN ('INIT', 'RESET')),
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      used_at timestamptz
    )`.execute(database)
  await sql`CREATE INDEX password_tokens_account ON password_tokens (account_biz_id)`.execute(database)
  await sql`CREATE INDEX password_tokens_expiry ON password_tokens (expires_at)`.execute(database)
}
