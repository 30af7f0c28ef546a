import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal } from '../../kernel/index.ts'

export interface LoginSessionsTable {
  token_digest: Uint8Array
  portal: Portal
  kind: 'LOGIN' | 'REGISTRATION'
  account_biz_id: AccountId | null
  client_digest: Uint8Array
  attempts_left: number
  code_sent_at: NullableTimestamp
  created_at: Timestamp
  expires_at: Timestamp
  spent_at: NullableTimestamp
  /** Of a registration: the address as entered, and when its ownership was proved. */
  email: string | null
  email_verified_at: NullableTimestamp
}

export type CodePurpose = 'LOGIN' | 'REGISTRATION' | 'STEP_UP'

interface OneTimeCodesTable {
  owner: string
  purpose: CodePurpose
  portal: Portal
  code_digest: Uint8Array
  sent_at: Timestamp
  expires_at: Timestamp
  used_at: NullableTimestamp
}

interface LoginFailuresTable {
  portal: Portal
  subject_digest: Uint8Array
  window_started_at: Timestamp
  failures: number
  /** Failures since the last sign-in, or since a day without failures. */
  in_a_row: number
  blocked_until: NullableTimestamp
}

interface LoginHistoryTable {
  biz_id: string
  portal: Portal
  account_biz_id: AccountId
  login_at: Timestamp
  client_ip: string
  user_agent: string
  /** 1 for success, 0 for failure. */
  login_result: number
  failure_reason: string | null
}

declare module '../../database/tables.ts' {
  interface Tables {
    login_sessions: LoginSessionsTable
    one_time_codes: OneTimeCodesTable
    login_failures: LoginFailuresTable
    login_history: LoginHistoryTable
  }
}

/** Sign-in and registration attempts, one-time codes, lockout counters and the login history. */
export const login = [
  `CREATE TABLE login_sessions (
    token_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('LOGIN', 'REGISTRATION')),
    account_biz_id uuid REFERENCES accounts,
    client_digest bytea NOT NULL,
    attempts_left integer NOT NULL CHECK (attempts_left >= 0),
    code_sent_at timestamptz,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    spent_at timestamptz,
    email text,
    email_verified_at timestamptz,
    CHECK ((kind = 'REGISTRATION') = (email IS NOT NULL))
  )`,
  `CREATE INDEX login_sessions_expiry ON login_sessions (expires_at)`,
  // A new password ends the account's pending attempts: a few rows, in a table that holds a day of all accounts.
  `CREATE INDEX login_sessions_under_way ON login_sessions (account_biz_id)
    WHERE account_biz_id IS NOT NULL AND spent_at IS NULL`,
  // The owner is a sign-in attempt, or a session that steps up. A new code replaces the previous one.
  `CREATE TABLE one_time_codes (
    owner text NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('LOGIN', 'REGISTRATION', 'STEP_UP')),
    portal text NOT NULL,
    code_digest bytea NOT NULL,
    sent_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (owner, purpose)
  )`,
  `CREATE INDEX one_time_codes_expiry ON one_time_codes (expires_at)`,
  // The key is a digest of portal and e-mail, so that failures of an unknown address count like those of a known one.
  `CREATE TABLE login_failures (
    portal text NOT NULL,
    subject_digest bytea NOT NULL,
    window_started_at timestamptz NOT NULL,
    failures integer NOT NULL,
    blocked_until timestamptz,
    in_a_row integer NOT NULL DEFAULT 0,
    PRIMARY KEY (portal, subject_digest)
  )`,
  `CREATE INDEX login_failures_window ON login_failures (window_started_at)`,
  `CREATE TABLE login_history (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL,
    account_biz_id uuid NOT NULL REFERENCES accounts,
    login_at timestamptz NOT NULL,
    client_ip text NOT NULL,
    user_agent text NOT NULL,
    login_result integer NOT NULL CHECK (login_result IN (0, 1)),
    failure_reason text,
    CHECK ((login_result = 1) = (failure_reason IS NULL))
  )`,
  `CREATE INDEX login_history_account ON login_history (account_biz_id, login_at DESC)`,
]
