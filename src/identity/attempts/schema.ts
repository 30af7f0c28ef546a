import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal } from '../../kernel/index.ts'

export interface AttemptsTable {
  tokenDigest: Uint8Array
  portal: Portal
  kind: 'LOGIN' | 'REGISTRATION'
  accountBizId: AccountId | null
  clientDigest: Uint8Array
  attemptsLeft: number
  codeSentAt: NullableTimestamp
  createdAt: Timestamp
  expiresAt: Timestamp
  spentAt: NullableTimestamp
  /** As entered. Null for a sign-in. */
  email: string | null
  emailVerifiedAt: NullableTimestamp
  /** Of the session at an identity provider that authenticated the person. */
  providerId: string | null
  providerSid: string | null
  /** The sealed ID token. */
  providerToken: Uint8Array | null
}

declare module '../../database/tables.ts' {
  interface Tables {
    login_sessions: AttemptsTable
  }
}

export const attempts = [
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
  // Serves the cancellation of pending sign-ins after a password change.
  `CREATE INDEX login_sessions_under_way ON login_sessions (account_biz_id)
    WHERE account_biz_id IS NOT NULL AND spent_at IS NULL`,
]
