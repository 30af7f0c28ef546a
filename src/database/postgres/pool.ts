import { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, type ClientConfig, Pool } from 'pg'
import type { Database, Tables } from '../tables.ts'
import { createGuardedPool } from './guarded-pool.ts'
import { sessionPreamble, transactionPreamble, withoutTimeoutsPreamble } from './session.ts'

/**
 * A client that closes its socket if `connect` fails. The `pg` pool discards such a client, but leaves the socket open.
 * A server that waits for a password closes the socket only after a minute, and could run out of connections until
 * then.
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

/**
 * Opens a pool of up to `max` connections. `preamble` is null on a direct connection. Behind a pooler, every
 * transaction starts with `preamble`.
 */
export const openPool = (
  config: ClientConfig & { max: number },
  preamble: string | null,
  onConnectionBroken: (error: Error) => void,
) => {
  const all = { ...config, Client: ClosingClient }
  const pool = new Pool(preamble === null ? { ...all, onConnect: (client) => client.query(sessionPreamble) } : all)
  // Ignore errors of the pool. Each connection reports its errors below, and the pool would repeat the errors of idle
  // connections.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onConnectionBroken))
  const dialect = new PostgresDialect({
    pool: createGuardedPool(pool, preamble === null ? null : `${transactionPreamble}; ${preamble}`),
  })
  return { pool, database: new Kysely<Tables>({ dialect }) }
}

/**
 * Delay before the first TCP keepalive probe, in milliseconds. Only keepalive can detect a dead server, because the
 * server also sends nothing during a long-running statement.
 */
const keepAliveInitialDelayMillis = 10_000

interface Server {
  config: ClientConfig
  onConnectionBroken(error: Error): void
}

/**
 * Runs `work` on a dedicated connection without statement timeouts, and closes the connection afterwards. If the signal
 * is aborted, closes the socket and rejects with the signal's reason.
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
