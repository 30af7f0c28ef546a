import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { Portal } from '../../kernel/index.ts'

interface LoginFailuresTable {
  portal: Portal
  subject_digest: Uint8Array
  window_started_at: Timestamp
  failures: number
  /** Number of failures since the last sign-in, or since a day without failures. */
  in_a_row: number
  blocked_until: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    login_failures: LoginFailuresTable
  }
}

/** Counters of failed sign-ins. */
export const lockout = [
  // The subject is a digest, so that failures of unknown addresses are stored like those of known ones.
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
]
