/**
 * What statements rely on, said by each session itself: a server, a database or a role may have another default (ALTER ROLE
 * … SET). Without ISO a day may be read as a month, and above READ COMMITTED whoever comes second in a race fails, instead of
 * seeing what the first one did. And what the server ends, because nobody needs it just now, a request may have been handed.
 */
const iso = "DateStyle = 'ISO'"
const level = 'ISOLATION LEVEL READ COMMITTED'

export const sessionPreamble = `SET ${iso}; SET idle_session_timeout = 0; SET SESSION CHARACTERISTICS AS TRANSACTION ${level}`

/** The same for sessions that are nobody's: how a transaction begins that says no level of its own, and what follows it. */
export const defaultBegin = `BEGIN ${level}`
export const transactionPreamble = `SET LOCAL ${iso}`

/**
 * Who has a transaction open and says nothing for so long is gone, and the server ends it: where a machine lost its power or
 * its network, nobody tells the server, and by TCP alone it would keep the locks for hours.
 */
export const maxIdleMs = 30_000
export const setIdleTimeout = (ms: number): string => `SET LOCAL idle_in_transaction_session_timeout = ${ms}`

/** For a transaction that is open for as long as it takes. PostgreSQL knows `transaction_timeout` since 17, and SET fails before. */
export const withoutTimeoutsPreamble = [
  `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; ${setIdleTimeout(maxIdleMs)}`,
  "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'",
].join('; ')
