import type { Timestamp } from '../../database/index.ts'
import type { AccountId, Locale, Portal, SessionId, WorkspaceId } from '../../kernel/index.ts'

interface SessionTicketsTable {
  ticketDigest: Uint8Array
  portal: Portal
  sessionBizId: SessionId
  accountBizId: AccountId
  operationId: string
  /** With the query. */
  path: string
  /** Null means the account's default workspace. */
  workspaceBizId: WorkspaceId | null
  locale: Locale
  createdAt: Timestamp
  expiresAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    session_tickets: SessionTicketsTable
  }
}

export const tickets = [
  `CREATE TABLE session_tickets (
    ticket_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    session_biz_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    account_biz_id uuid NOT NULL,
    operation_id text NOT NULL,
    path text NOT NULL,
    workspace_biz_id uuid,
    locale text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
  `CREATE INDEX session_tickets_session ON session_tickets (session_biz_id, expires_at)`,
  `CREATE INDEX session_tickets_expiry ON session_tickets (expires_at)`,
]
