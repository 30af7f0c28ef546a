import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal } from '../../kernel/index.ts'

/** UNDO removes second factors that the account did not have before. PASSKEY allows an operator's first passkey. */
export type PasswordTokenPurpose = 'INIT' | 'RESET' | 'UNDO' | 'PASSKEY'

interface PasswordTokensTable {
  tokenDigest: Uint8Array
  portal: Portal
  accountBizId: AccountId
  purpose: PasswordTokenPurpose
  createdAt: Timestamp
  expiresAt: Timestamp
  usedAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    password_tokens: PasswordTokensTable
  }
}

export const passwords = [
  `CREATE TABLE password_tokens (
    token_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    account_biz_id uuid NOT NULL REFERENCES accounts,
    purpose text NOT NULL CHECK (purpose IN ('INIT', 'RESET')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
  )`,
  `CREATE INDEX password_tokens_account ON password_tokens (account_biz_id)`,
  `CREATE INDEX password_tokens_expiry ON password_tokens (expires_at)`,
]

export const enrollments = [
  `ALTER TABLE password_tokens DROP CONSTRAINT password_tokens_purpose_check,
    ADD CONSTRAINT password_tokens_purpose_check CHECK (purpose IN ('INIT', 'RESET', 'UNDO', 'PASSKEY'))`,
]

export const undoLinks = [
  `ALTER TABLE password_tokens DROP CONSTRAINT password_tokens_purpose_check,
    ADD CONSTRAINT password_tokens_purpose_check CHECK (purpose IN ('INIT', 'RESET', 'UNDO'))`,
]
