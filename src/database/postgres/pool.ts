import { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, type ClientConfig, Pool } from 'pg'
import type { Database, Tables } from '../tables.ts'
import { createGuardedPool } from './guarded-pool.ts'
import { sessionPreamble, transactionPreamble, withoutTimeoutsPreamble } from './session.ts'

/**
 * A client that closes its socket if it fails to connect. The pool drops such a client, but leaves its socket open until
 * the server closes it. A server that waits for a password does so after a minute, and may run out of connections.
 */
class ClosingClient extends Client {
  override connect(): Promise<Client>
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<Client> | undefined {
    if (!callback) return super.connect()
    super.connect((error: Error | null) => {
      if (error) void this.end()
      callback(error)
    })
    return undefined
  }
}

/** Opens a pool of at most `max` connections. With a `preamble` (behind a pooler), every transaction begins with it. */
export const openPool = (
  config: ClientConfig & { max: number },
  preamble: string | null,
  onConnectionBroken: (error: Error) => void,
) => {
  const all = { ...config, Client: ClosingClient }
  const pool = new Pool(preamble === null ? { ...all, onConnect: (client) => client.query(sessionPreamble) } : all)
  // Each connection reports its own errors. The pool would report those of idle ones a second time.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onConnectionBroken))
  const dialect = new PostgresDialect({
    pool: createGuardedPool(pool, preamble === null ? null : `${transactionPreamble}; ${preamble}`),
  })
  return { pool, database: new Kysely<Tables>({ dialect }) }
}

/** Detect a dead server by TCP keepalive: a long-running statement is silent, too. */
const keepAliveInitialDelayMillis = 10_000

interface Server {
  config: ClientConfig
  onConnectionBroken(error: Error): void
}

/**
 * Runs work on a dedicated connection without statement timeouts, and closes the connection. If the signal is aborted,
 * cuts the connection and rejects with the signal's reason.
 */
export const runWithoutTimeouts = async <T>(
  { config, onConnectionBroken }: Server,
  work: (database: Database) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  signal?.throwIfAborted()
  let socket: Socket | undefined
  const stream = () => {
    socket = new Socket()
    return socket
  }
  const cut = () => void socket?.destroy()
  const single = { ...config, max: 1, pipeline: true, keepAliveInitialDelayMillis, stream }
  const { pool, database } = openPool(single, withoutTimeoutsPreamble, (error) => {
    if (!signal?.aborted) onConnectionBroken(error)
  })
  pool.on('connect', () => {
    if (signal?.aborted) cut()
  })
  signal?.addEventListener('abort', cut)
  try {
    return await work(database)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', cut)
    await database.destroy()
  }
}
