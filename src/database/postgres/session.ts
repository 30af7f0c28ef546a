/* Overrides the defaults of the server, the database and the role (ALTER ROLE … SET). */

/** Other date styles can swap the day and the month. */
const iso = "DateStyle = 'ISO'"
/**
 * A statement that waited for a lock reads the rows of the transaction that held it. At a higher level, it would fail.
 */
const level = 'ISOLATION LEVEL READ COMMITTED'

/**
 * Sent once per direct connection. With an idle timeout, the server could close a pooled connection just after a
 * request acquires it.
 */
export const sessionPreamble = `SET ${iso}; SET idle_session_timeout = 0; SET SESSION CHARACTERISTICS AS TRANSACTION ${level}`

/** Used behind a pooler, where sessions are shared. */
export const defaultBegin = `BEGIN ${level}`
export const transactionPreamble = `SET LOCAL ${iso}`

/**
 * In milliseconds. Otherwise, the server keeps the locks of a client machine that lost power until TCP detects it hours
 * later.
 */
export const maxIdleMs = 30_000
/** 0 disables the timeout. */
export function setIdleTimeout(ms: number): string {
  return `SET LOCAL idle_in_transaction_session_timeout = ${ms}`
}

/** PostgreSQL before 17 has no `transaction_timeout`, and SET fails for an unknown setting. */
export const withoutTimeoutsPreamble = [
  `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; ${setIdleTimeout(maxIdleMs)}`,
  "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'",
].join('; ')
