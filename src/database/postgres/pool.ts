import type { LookupFunction, Socket } from 'node:net'
import { Kysely, PostgresAdapter, PostgresDriver, PostgresIntrospector } from 'kysely'
import { type ClientConfig, Pool } from 'pg'
import { ColumnCompiler } from '../column-names.ts'
import { type LeaseOptions, LeasingDriver, type TraceStatement } from '../lease.ts'
import type { ServerWatch } from '../port.ts'
import type { Database, Tables } from '../tables.ts'
import { PipeliningClient, ResolvingSocket } from './client.ts'
import { createGuardedPool } from './guarded-pool.ts'
import { sessionPreamble, transactionPreamble, withoutTimeoutsPreamble } from './session.ts'

/** `preamble` is null on a direct connection. */
export function openPool(
  config: ClientConfig & { max: number },
  preamble: string | null,
  onConnectionBroken: (error: Error) => void,
  { limit: defaultLimit, trace }: LeaseOptions,
  watch: ServerWatch = { failed: () => undefined, works: () => undefined },
) {
  const all = { ...config, Client: PipeliningClient, pipeline: true }
  const pool = new Pool(preamble === null ? { ...all, onConnect: (client) => client.query(sessionPreamble) } : all)
  // The pool would report the errors of idle connections a second time.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onConnectionBroken))
  const guarded = createGuardedPool(pool, preamble === null ? null : `${transactionPreamble}; ${preamble}`, watch)
  const adapter = new PostgresAdapter()
  const named = (port: string, limit = defaultLimit) =>
    new Kysely<Tables>({
      dialect: {
        createAdapter: () => adapter,
        createDriver: () => new LeasingDriver(new PostgresDriver({ pool: guarded }), port, { limit, trace }),
        createIntrospector: (database) => new PostgresIntrospector(database),
        createQueryCompiler: () => new ColumnCompiler(),
      },
    })
  return { pool, database: named('database'), named }
}

/** Only TCP keepalive can detect a dead server, because a live one also sends nothing during a long statement. */
const keepAliveInitialDelayMillis = 10_000

interface Server {
  config: ClientConfig
  lookup: LookupFunction | undefined
  trace: TraceStatement | undefined
  onConnectionBroken(error: Error): void
}

/** Uses a dedicated connection. An aborted signal closes its socket. */
export async function runWithoutTimeouts<T>(
  { config, lookup, trace, onConnectionBroken }: Server,
  work: (database: Database) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  signal?.throwIfAborted()
  let socket: Socket | undefined
  const stream = () => {
    socket = new ResolvingSocket(lookup)
    return socket
  }
  const cut = () => void socket?.destroy()
  const single = { ...config, max: 1, keepAliveInitialDelayMillis, stream }
  const reportBroken = (error: Error): void => {
    if (!signal?.aborted) onConnectionBroken(error)
  }
  const { pool, database } = openPool(single, withoutTimeoutsPreamble, reportBroken, { limit: null, trace })
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
