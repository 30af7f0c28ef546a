import type { Timestamp } from '../../database/index.ts'
import type { Portal, SessionId } from '../../kernel/index.ts'

interface StepUpsTable {
  portal: Portal
  sessionBizId: SessionId
  purposeDigest: Uint8Array
  verifiedAt: Timestamp
  expiresAt: Timestamp
  /** The command that spent the step-up. */
  spentBy: string | null
}

declare module '../../database/tables.ts' {
  interface Tables {
    step_ups: StepUpsTable
  }
}

export const stepUps = [
  `CREATE TABLE step_ups (
    portal text NOT NULL,
    session_biz_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    purpose_digest bytea NOT NULL,
    verified_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    spent_by text,
    PRIMARY KEY (session_biz_id, purpose_digest)
  )`,
  `CREATE INDEX step_ups_expiry ON step_ups (expires_at)`,
]
