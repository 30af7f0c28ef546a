import { errorCode } from '../kernel/index.ts'

/** Each that PostgreSQL gives, and each of ours, has a digit; EPIPE, the system's code of a broken socket, has none. */
const sqlStateText = /^(?=.*\d)[0-9A-Z]{5}$/

/** The SQLSTATE of an error that came from the store, if it has one. */
export const sqlState = (error: unknown): string | undefined => {
  const code = errorCode(error)
  return code !== undefined && sqlStateText.test(code) ? code : undefined
}

/** The disk is full, or a failover has left us with a replica. */
export const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006'

/** Classes that say «not now» rather than «wrong»: connection, rollback, resources, operator, system. */
const unavailableClasses = new Set(['08', '40', '53', '55', '57', '58'])
/** A transaction that took too long, or in which we said nothing for too long: the server has ended it. */
const endedTransactions = new Set(['25P03', '25P04'])
const broken = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'ENOSPC', 'EAI_AGAIN']
const unreachable = ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN']
const systemErrors = new Set([...broken, ...unreachable])
/** What the pool says to who waited behind others for one of its connections. */
const poolExhausted = 'timeout exceeded when trying to connect'
const driverMessages = [poolExhausted, 'Connection terminated', 'Query read timeout', 'Client has encountered']

const isExhausted = (cause: unknown): boolean => cause instanceof Error && cause.message === poolExhausted

/** Nobody was let in, whatever the reason: the network's, a certificate's, a password's, no socket left here, or all in use. */
export class NoConnection extends Error {
  constructor(cause: unknown) {
    super(
      isExhausted(cause)
        ? 'no connection to PostgreSQL came free in time (database.poolSize)'
        : 'no connection to PostgreSQL',
      { cause },
    )
    this.name = 'NoConnection'
  }
}

/** The embedded store could not write its log, mostly: what it had committed is there again once it is opened anew. */
export class EmbeddedStoreFailed extends Error {
  constructor(cause: unknown) {
    super('the embedded store has broken down, and is of no use until this process is started again', { cause })
    this.name = 'StorePanicked'
  }
}

/** Whether a failure means that the store is not to be had: the request is then answered 503 and never passes. */
export const isDatabaseUnavailable = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state) return isReadOnly(error) || endedTransactions.has(state) || unavailableClasses.has(state.slice(0, 2))
  if (!(error instanceof Error)) return false
  if (error instanceof NoConnection || error instanceof EmbeddedStoreFailed) return true
  if (systemErrors.has(errorCode(error) ?? '')) return true
  return driverMessages.some((message) => error.message.includes(message))
}
