import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal, SessionId } from '../../kernel/index.ts'

export type SessionEndReason =
  | 'LOGOUT'
  | 'DISPLACED'
  | 'REFRESH_REUSED'
  | 'TERMINATED'
  | 'PASSWORD_CHANGED'
  | 'ACCOUNT_CLOSED'

interface SessionsTable {
  bizId: SessionId
  portal: Portal
  accountBizId: AccountId
  clientDigest: Uint8Array
  clientIp: string
  userAgent: string
  loginAt: Timestamp
  lastActivityAt: Timestamp
  idleExpiresAt: Timestamp
  expiresAt: Timestamp
  steppedUpAt: NullableTimestamp
  endedAt: NullableTimestamp
  endReason: SessionEndReason | null
}

interface LoginHistoryTable {
  bizId: string
  portal: Portal
  accountBizId: AccountId
  loginAt: Timestamp
  clientIp: string
  userAgent: string
  loginResult: number
  failureReason: string | null
}

declare module '../../database/tables.ts' {
  interface Tables {
    sessions: SessionsTable
    login_history: LoginHistoryTable
  }
}

export const sessions = [
  `CREATE TABLE sessions (
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
  )`,
  `CREATE INDEX sessions_live ON sessions (account_biz_id, login_at) WHERE ended_at IS NULL`,
  `CREATE INDEX sessions_expiry ON sessions (expires_at)`,
]

export const loginHistory = [
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
