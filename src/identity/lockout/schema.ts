import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { Portal } from '../../kernel/index.ts'

interface LoginFailuresTable {
  portal: Portal
  subjectDigest: Uint8Array
  /** A known device, or empty for all unknown devices together. */
  deviceDigest: Generated<Uint8Array>
  windowStartedAt: Timestamp
  failures: number
  inARow: number
  blockedUntil: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    login_failures: LoginFailuresTable
  }
}

export const lockout = [
  // A digest hides whether the address has an account.
  `CREATE TABLE login_failures (
    portal text NOT NULL,
    subject_digest bytea NOT NULL,
    device_digest bytea NOT NULL DEFAULT '',
    window_started_at timestamptz NOT NULL,
    failures integer NOT NULL,
    blocked_until timestamptz,
    in_a_row integer NOT NULL DEFAULT 0,
    PRIMARY KEY (portal, subject_digest, device_digest)
  )`,
  `CREATE INDEX login_failures_window ON login_failures (window_started_at)`,
]
