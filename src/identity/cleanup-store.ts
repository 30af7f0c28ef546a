import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, timestamptz } from '../database/index.ts'
import { addMs, days, type Instant } from '../kernel/index.ts'
import { failureRetentionMs, type LockoutRule } from './lockout/rules.ts'

const sessionRetentionMs = days(30)
const shortRetentionMs = days(1)

/** A longer statement would block the embedded store, or time out on a server and roll back. */
const maxRows = 1_000

interface ExpiredRows {
  table:
    | 'one_time_codes'
    | 'login_sessions'
    | 'password_tokens'
    | 'login_failures'
    | 'refresh_tokens'
    | 'former_cookies'
    | 'session_tickets'
    | 'sessions'
    | 'known_devices'
    | 'shown_secrets'
    | 'step_ups'
    | 'passkey_challenges'
    | 'provider_attempts'
    | 'provider_invitations'
    | 'provider_logouts'
  /** An indexed column. Rows whose value is earlier than `before` are deleted. */
  column: 'expiresAt' | 'windowStartedAt' | 'lastSeenAt'
  before: Instant
  where?: RawBuilder<SqlBool>
}

/**
 * Keeps the login history, former factors and the audit log. Replicas can run it concurrently. Throws the signal's reason before the
 * next statement.
 */
export async function deleteExpired(
  database: Database,
  now: Instant,
  { failures, knownDevices }: { failures: Pick<LockoutRule, 'windowMs'>; knownDevices: { retentionMs: number } },
  signal?: AbortSignal,
): Promise<void> {
  const recently = addMs(now, -shortRetentionMs)
  const failuresBefore = addMs(now, -failureRetentionMs(failures))
  const noWait = sql<SqlBool>`(blocked_until IS NULL OR blocked_until < ${timestamptz(failuresBefore)})`
  const expired: ExpiredRows[] = [
    { table: 'one_time_codes', column: 'expiresAt', before: recently },
    { table: 'login_sessions', column: 'expiresAt', before: recently },
    { table: 'login_failures', column: 'windowStartedAt', before: failuresBefore, where: noWait },
    { table: 'password_tokens', column: 'expiresAt', before: recently },
    { table: 'step_ups', column: 'expiresAt', before: recently },
    { table: 'passkey_challenges', column: 'expiresAt', before: now },
    { table: 'provider_attempts', column: 'expiresAt', before: recently },
    { table: 'provider_invitations', column: 'expiresAt', before: recently },
    { table: 'provider_logouts', column: 'expiresAt', before: recently },
    { table: 'shown_secrets', column: 'expiresAt', before: now },
    { table: 'refresh_tokens', column: 'expiresAt', before: recently },
    { table: 'former_cookies', column: 'expiresAt', before: recently },
    { table: 'session_tickets', column: 'expiresAt', before: now },
    { table: 'sessions', column: 'expiresAt', before: addMs(now, -sessionRetentionMs) },
    { table: 'known_devices', column: 'lastSeenAt', before: addMs(now, -knownDevices.retentionMs) },
  ]
  for (const rows of expired) {
    for (let deleted = maxRows; deleted === maxRows; ) {
      signal?.throwIfAborted()
      deleted = await deleteBatch(database, rows)
    }
  }
}

/** Deletes up to `maxRows` rows and returns the number of deleted rows. */
async function deleteBatch(database: Database, { table, column, before, where }: ExpiredRows): Promise<number> {
  const [from, end] = [sql.table(table), sql.ref(column)]
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM ${from} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${from} WHERE ${end} < ${timestamptz(before)} AND ${where ?? sql.lit(true)}
       ORDER BY ${end} LIMIT ${maxRows} FOR UPDATE SKIP LOCKED))`.execute(database)
  return Number(numAffectedRows)
}
