import { type Kysely, sql } from 'kysely'

/** Accounts and their sessions (interface.md 2.8, 2.9, 2.12). An account belongs to one portal. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE accounts (
      biz_id uuid PRIMARY KEY,
      portal text NOT NULL CHECK (portal IN ('CONSUMER', 'SYSTEM')),
      institution_biz_id uuid NOT NULL,
      account_status text NOT NULL CHECK (account_status IN ('PENDING_APPROVAL', 'ACTIVE', 'SUSPENDED', 'REJECTED')),
      email text NOT NULL,
      email_canonical text NOT NULL,
      email_verified_at timestamptz,
      phone text NOT NULL DEFAULT '',
      account_name text NOT NULL,
      remark text,
      password_hash text,
      password_changed_at timestamptz,
      default_language text NOT NULL,
      default_timezone text NOT NULL,
      default_country text NOT NULL,
      max_sessions integer NOT NULL DEFAULT 5 CHECK (max_sessions BETWEEN 1 AND 100),
      sso_enabled boolean NOT NULL DEFAULT false,
      last_login_at timestamptz,
      last_login_ip text,
      ip_whitelist_enabled boolean NOT NULL DEFAULT false,
      operator_permissions text[] NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      UNIQUE (portal, email_canonical),
      CHECK (portal = 'SYSTEM' OR operator_permissions = '{}')
    )`.execute(database)
  await sql`
    CREATE TABLE sessions (
      biz_id uuid PRIMARY KEY,
      portal text NOT NULL,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      client_digest bytea NOT NULL,
      client_ip text NOT NULL,
      user_agent text NOT NULL,
      login_at timestamptz NOT NULL,
      last_activity_at timestamptz NOT NULL,
      idle_expires_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      stepped_up_at timestamptz,
      ended_at timestamptz,
      end_reason text,
      CHECK ((ended_at IS NULL) = (end_reason IS NULL))
    )`.execute(database)
  await sql`CREATE INDEX sessions_live ON sessions (account_biz_id, login_at) WHERE ended_at IS NULL`.execute(database)
  await sql`
    CREATE TABLE refresh_tokens (
      token_digest bytea PRIMARY KEY,
      portal text NOT NULL,
      session_biz_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
      parent_digest bytea UNIQUE,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      used_at timestamptz,
      successor bytea,
      CHECK ((used_at IS NULL) = (successor IS NULL))
    )`.execute(database)
  await sql`CREATE INDEX refresh_tokens_session ON refresh_tokens (session_biz_id)`.execute(database)
  await sql`
    CREATE TABLE known_devices (
      account_biz_id uuid NOT NULL REFERENCES accounts,
      client_digest bytea NOT NULL,
      first_seen_at timestamptz NOT NULL,
      last_seen_at timestamptz NOT NULL,
      PRIMARY KEY (account_biz_id, client_digest)
    )`.execute(database)
}
