import { type Kysely, sql } from 'kysely'

/** What happens before a session: pre-login sessions, codes, counted failures, and the history of logins (2.10). */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE login_sessions (
      token_digest bytea PRIMARY KEY,
      portal text NOT NULL,
      kind text NOT NULL CHECK (kind IN ('LOGIN', 'REGISTRATION')),
      account_biz_id uuid REFERENCES accounts,
      client_digest bytea NOT NULL,
      attempts_left integer NOT NULL CHECK (attempts_left >= 0),
      code_sent_at timestamptz,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      spent_at timestamptz
    )`.execute(database)
  await sql`CREATE INDEX login_sessions_expiry ON login_sessions (expires_at)`.execute(database)
  // The owner is what a code was sent for: a pre-login session, or a live one that steps up. A new code replaces the old.
  await sql`
    CREATE TABLE one_time_codes (
      owner text NOT NULL,
      purpose text NOT NULL CHECK (purpose IN ('LOGIN', 'REGISTRATION', 'STEP_UP')),
      portal text NOT NULL,
      code_digest bytea NOT NULL,
      sent_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      used_at timestamptz,
      PRIMARY KEY (owner, purpose)
    )`.execute(database)
  await sql`CREATE INDEX one_time_codes_expiry ON one_time_codes (expires_at)`.execute(database)
  // Keyed by a digest of portal and e-mail, so that an unknown address is counted just like a known one.
  await sql`
    CREATE TABLE login_failures (
      portal text NOT NULL,
      subject_digest bytea NOT NULL,
      window_started_at timestamptz NOT NULL,
      failures integer NOT NULL,
      blocked_until timestamptz,
      PRIMARY KEY (portal, subject_digest)
    )`.execute(database)
  await sql`
    CREATE TABLE login_history (
      biz_id uuid PRIMARY KEY,
      portal text NOT NULL,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      login_at timestamptz NOT NULL,
      client_ip text NOT NULL,
      user_agent text NOT NULL,
      login_result integer NOT NULL CHECK (login_result IN (0, 1)),
      failure_reason text,
      CHECK ((login_result = 1) = (failure_reason IS NULL))
    )`.execute(database)
  await sql`CREATE INDEX login_history_account ON login_history (account_biz_id, login_at DESC)`.execute(database)
}
