import { errorCode } from '../kernel/index.ts'

/** Every SQLSTATE has a digit. EPIPE, a system error code of the same form, has none. */
const sqlStateText = /^(?=.*\d)[0-9A-Z]{5}$/

/** Returns the SQLSTATE of an error; undefined if the error is not from the database. */
export const sqlState = (error: unknown): string | undefined => {
  const code = errorCode(error)
  return code !== undefined && sqlStateText.test(code) ? code : undefined
}

/** Whether a write failed because the database is read-only: the disk is full, or a failover left us on a replica. */
export const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006'

/** Classes of temporary failures: connection, transaction rollback, resources, operator intervention, system error. */
const unavailableClasses = new Set(['08', '40', '53', '55', '57', '58'])
/** transaction_timeout and idle_in_transaction_session_timeout. */
const endedTransactions = new Set(['25P03', '25P04'])
const broken = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'ENOSPC', 'EAI_AGAIN']
const unreachable = ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN']
const systemErrors = new Set([...broken, ...unreachable])
/** The pool's message when no connection became free in time. */
const poolExhausted = 'timeout exceeded when trying to connect'
const driverMessages = [poolExhausted, 'Connection terminated', 'Query read timeout', 'Client has encountered']

const isExhausted = (cause: unknown): boolean => cause instanceof Error && cause.message === poolExhausted

/** No connection could be opened (network, certificate, password, no sockets), or the pool was exhausted. */
export class NoConnection extends Error {
  constructor(cause: unknown) {
    super(
      isExhausted(cause)
        ? 'no connection to PostgreSQL became free in time (database.poolSize)'
        : 'no connection to PostgreSQL',
      { cause },
    )
    this.name = 'NoConnection'
  }
}

/** The embedded store has panicked, usually because it could not write its log. Reopening recovers all commits. */
export class EmbeddedStoreFailed extends Error {
  constructor(cause: unknown) {
    super('the embedded store has failed; restart the process', { cause })
    this.name = 'EmbeddedStoreFailed'
  }
}

/** Whether an error means that the database is unavailable. The request then fails with 503. */
export const isDatabaseUnavailable = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state) return isReadOnly(error) || endedTransactions.has(state) || unavailableClasses.has(state.slice(0, 2))
  if (!(error instanceof Error)) return false
  if (error instanceof NoConnection || error instanceof EmbeddedStoreFailed) return true
  if (systemErrors.has(errorCode(error) ?? '')) return true
  return driverMessages.some((message) => error.message.includes(message))
}
