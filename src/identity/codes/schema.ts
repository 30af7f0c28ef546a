import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { Portal } from '../../kernel/index.ts'

export type CodePurpose = 'LOGIN' | 'REGISTRATION' | 'STEP_UP'

interface OneTimeCodesTable {
  owner: string
  purpose: CodePurpose
  portal: Portal
  codeDigest: Uint8Array
  sentAt: Timestamp
  expiresAt: Timestamp
  usedAt: NullableTimestamp
  /** The code of the mail before, which stays valid until its own end. */
  earlierDigest: Uint8Array | null
  earlierSentAt: NullableTimestamp
  earlierExpiresAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    one_time_codes: OneTimeCodesTable
  }
}

export const codes = [
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
]

export const earlierCodes = [
  `ALTER TABLE one_time_codes ADD COLUMN earlier_digest bytea, ADD COLUMN earlier_sent_at timestamptz,
    ADD COLUMN earlier_expires_at timestamptz`,
]
