/*
 * Session settings that Portico's statements require. They override the defaults of the server, the database and the
 * role (ALTER ROLE … SET).
 */

/** Other date styles can swap the day and the month. */
const iso = "DateStyle = 'ISO'"
/**
 * READ COMMITTED lets a statement that waited for a lock read the rows of the transaction that held the lock. At a
 * higher level, the statement would fail.
 */
const level = 'ISOLATION LEVEL READ COMMITTED'

/**
 * Sent once per direct connection. Disables the idle timeout of the server, because the server could otherwise close a
 * pooled connection just after a request acquires it.
 */
export const sessionPreamble = `SET ${iso}; SET idle_session_timeout = 0; SET SESSION CHARACTERISTICS AS TRANSACTION ${level}`

/** BEGIN of a transaction without an explicit isolation level. Used behind a pooler, where sessions are shared. */
export const defaultBegin = `BEGIN ${level}`
export const transactionPreamble = `SET LOCAL ${iso}`

/**
 * Maximum idle time of a transaction before the server ends it, in milliseconds. Without this limit, the server would
 * keep the locks of a machine that lost power or its network for hours, until TCP detects the loss.
 */
export const maxIdleMs = 30_000
/**
 * Returns a statement that sets the idle timeout of the current transaction, in milliseconds. 0 disables the timeout.
 */
export const setIdleTimeout = (ms: number): string => `SET LOCAL idle_in_transaction_session_timeout = ${ms}`

/**
 * Sent at the start of a transaction that may run for any length of time. `transaction_timeout` exists only in
 * PostgreSQL 17 and later, and SET fails for an unknown setting. The query over `pg_settings` therefore sets it only if
 * it exists.
 */
export const withoutTimeoutsPreamble = [
  `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; ${setIdleTimeout(maxIdleMs)}`,
  "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'",
].join('; ')
