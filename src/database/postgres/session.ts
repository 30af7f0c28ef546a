/*
 * Session settings that our statements rely on. A server, a database or a role may have other defaults (ALTER ROLE … SET).
 */

/** Other date styles can swap day and month. */
const iso = "DateStyle = 'ISO'"
/** At a higher level the loser of a race fails instead of reading the winner's rows. */
const level = 'ISOLATION LEVEL READ COMMITTED'

/** For a session of our own. The server must not end an idle session that a request may just have acquired. */
export const sessionPreamble = `SET ${iso}; SET idle_session_timeout = 0; SET SESSION CHARACTERISTICS AS TRANSACTION ${level}`

/** For the shared sessions of a pooler: the BEGIN of a transaction without a level, and the statement after it. */
export const defaultBegin = `BEGIN ${level}`
export const transactionPreamble = `SET LOCAL ${iso}`

/**
 * How long a transaction may be idle before the server ends it, in milliseconds. If our machine loses power or its
 * network, TCP alone would hold the locks for hours.
 */
export const maxIdleMs = 30_000
/** Sets the idle timeout of the current transaction. 0 disables it. */
export const setIdleTimeout = (ms: number): string => `SET LOCAL idle_in_transaction_session_timeout = ${ms}`

/** For a transaction of any length. Only PostgreSQL 17 and later know `transaction_timeout`; SET fails before. */
export const withoutTimeoutsPreamble = [
  `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; ${setIdleTimeout(maxIdleMs)}`,
  "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'",
].join('; ')
