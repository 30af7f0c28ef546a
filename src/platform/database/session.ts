/**
 * What statements rely on, said by each session itself: a server, a database or a role may have another default (ALTER ROLE
 * … SET). Without ISO a day may be read as a month, and above READ COMMITTED whoever comes second in a race fails, instead of
 * seeing what the first one did.
 */
const iso = "DateStyle = 'ISO'"
const level = 'ISOLATION LEVEL READ COMMITTED'

export const forSession = `SET ${iso}; SET SESSION CHARACTERISTICS AS TRANSACTION ${level}`

/** The same for sessions that are nobody's: how a transaction begins that says no level of its own, and what follows it. */
export const plainBegin = `BEGIN ${level}`
export const forTransaction = `SET LOCAL ${iso}`

/** For a transaction that is open for as long as it takes. PostgreSQL knows `transaction_timeout` since 17, and SET fails before. */
export const untimed = [
  'SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0',
  "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'",
].join('; ')
