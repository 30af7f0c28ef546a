import { errorCode } from '../kernel/index.ts'

/** Every SQLSTATE contains a digit; the Node.js error code EPIPE does not. */
const sqlStateText = /^(?=.*\d)[0-9A-Z]{5}$/

/** Returns the SQLSTATE, such as 23505 for a duplicate key. Undefined if the error is not from the database. */
export function sqlState(error: unknown): string | undefined {
  const code = errorCode(error)
  return code !== undefined && sqlStateText.test(code) ? code : undefined
}

/** Possible causes are a full disk, and a failover that made the server a standby. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === '25006'
}

/**
 * Temporary failures: connection, transaction rollback, resources, object state, operator intervention, system error.
 */
const unavailableClasses = new Set(['08', '40', '53', '55', '57', '58'])
/** SQLSTATEs of idle_in_transaction_session_timeout and transaction_timeout. */
const endedTransactions = new Set(['25P03', '25P04'])
const broken = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'ENOSPC', 'EAI_AGAIN']
const unreachable = ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN']
const systemErrors = new Set([...broken, ...unreachable])
/** The `pg` pool throws this if no connection becomes free in time. */
const poolExhausted = 'timeout exceeded when trying to connect'
const noReply = 'Query read timeout'
const driverMessages = [poolExhausted, 'Connection terminated', noReply, 'Client has encountered']

/** The server did not even enforce `statement_timeout`. A firewall may have forgotten the connection. */
export function isSilent(error: unknown): boolean {
  return error instanceof Error && error.message === noReply
}

/** Includes an exhausted pool. */
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

/** Usually, PGlite could not write its WAL. A restart of the process recovers committed transactions. */
export class EmbeddedStoreFailed extends Error {
  constructor(cause: unknown) {
    super('the embedded store has failed; restart the process', { cause })
    this.name = 'EmbeddedStoreFailed'
  }
}

/** A transaction holds the only connection for too long. */
export class EmbeddedStoreBusy extends Error {
  constructor(heldMs: number) {
    super(`a transaction holds the connection of the embedded store for more than ${heldMs} ms`)
    this.name = 'EmbeddedStoreBusy'
  }
}

/** The client then gets 503. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  if (state) return isReadOnly(error) || endedTransactions.has(state) || unavailableClasses.has(state.slice(0, 2))
  if (!(error instanceof Error)) return false
  if (isUnavailable(error)) return true
  if (systemErrors.has(errorCode(error) ?? '')) return true
  return driverMessages.some((message) => error.message.includes(message))
}

/** Whether the whole server is unavailable, and not only a statement, for example because of a lock. */
export function isServerFailure(error: unknown): boolean {
  const state = sqlState(error)
  return state ? isReadOnly(error) || /^(08|53|57P|58)/.test(state) : isDatabaseUnavailable(error)
}

/** Whether a host cannot be reached now: its name, its port or its socket does not exist yet, or it does not respond. */
export function isUnreachable(error: unknown): boolean {
  const code = errorCode(error) ?? ''
  // A Unix socket, and not a file such as a certificate.
  if (code === 'ENOENT') return error instanceof Error && 'syscall' in error && error.syscall === 'connect'
  return code !== 'ENOSPC' && systemErrors.has(code)
}

/** Connection exceptions, too many connections, a server that starts or shuts down. */
const awayStates = /^(08(?!P01)|53300|57P0[123])/
/** PgBouncer has no SQLSTATE for a server that is away. */
const awayPooler = /login has been failing|cannot connect|connect failed|starting up|shutting down/
const wrongLogin = /authentication|password|does not exist/
const awayMessages = /timeout expired|Connection terminated/

/** Whether a later attempt to connect can succeed without a change of the configuration. */
export function isServerAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const state = sqlState(error)
  if (state === '08P01') return awayPooler.test(error.message) && !wrongLogin.test(error.message)
  if (state) return awayStates.test(state)
  return isUnreachable(error) || awayMessages.test(error.message) || isServerAway(error.cause)
}

function isExhausted(cause: unknown): boolean {
  return cause instanceof Error && cause.message === poolExhausted
}

function isUnavailable(error: Error): boolean {
  return [NoConnection, EmbeddedStoreFailed, EmbeddedStoreBusy].some((kind) => error instanceof kind)
}
