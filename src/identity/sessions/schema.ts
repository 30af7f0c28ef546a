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
  biz_id: SessionId
  portal: Portal
  account_biz_id: AccountId
  client_digest: Uint8Array
  client_ip: string
  user_agent: string
  login_at: Timestamp
  last_activity_at: Timestamp
  idle_expires_at: Timestamp
  expires_at: Timestamp
  stepped_up_at: NullableTimestamp
  ended_at: NullableTimestamp
  end_reason: SessionEndReason | null
}

interface LoginHistoryTable {
  biz_id: string
  portal: Portal
  account_biz_id: AccountId
  login_at: Timestamp
  client_ip: string
  user_agent: string
  login_result: number
  failure_reason: string | null
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
