import type { Timestamp } from '../../database/index.ts'
import type { AccountId, Portal } from '../../kernel/index.ts'

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
    login_history: LoginHistoryTable
  }
}

/** Sign-ins and failed sign-ins of each account. */
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
