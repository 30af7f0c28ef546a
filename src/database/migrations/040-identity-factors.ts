import { type Kysely, sql } from 'kysely'

/** What proves an account beside its password: authenticators, backup codes, and the addresses that it is used from. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  // A new secret waits beside the one in force until it is verified. A time step is spent by raising `last_used_step`.
  await sql`
    CREATE TABLE otp_factors (
      account_biz_id uuid PRIMARY KEY REFERENCES accounts,
      portal text NOT NULL,
      secret bytea,
      verified_at timestamptz,
      last_used_step bigint NOT NULL DEFAULT 0,
      pending_secret bytea,
      pending_at timestamptz,
      CHECK ((secret IS NULL) = (verified_at IS NULL)),
      CHECK ((pending_secret IS NULL) = (pending_at IS NULL))
    )`.execute(database)
  await sql`
    CREATE TABLE backup_codes (
      account_biz_id uuid NOT NULL REFERENCES accounts,
      code_digest bytea NOT NULL,
      portal text NOT NULL,
      generated_at timestamptz NOT NULL,
      used_at timestamptz,
      PRIMARY KEY (account_biz_id, code_digest)
    )`.execute(database)
  await sql`
    CREATE TABLE ip_whitelist_entries (
      biz_id uuid PRIMARY KEY,
      portal text NOT NULL,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      address text NOT NULL,
      ip_version integer NOT NULL CHECK (ip_version IN (4, 6)),
      remark text,
      place integer NOT NULL,
      created_at timestamptz NOT NULL,
      last_matched_at timestamptz,
      UNIQUE (account_biz_id, place)
    )`.execute(database)
}
