import { Client, type ClientConfig, type Pool, types } from 'pg'
import { sqlState } from '../errors.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase, WithoutTimeouts } from '../port.ts'
import { valueParsers } from '../tables.ts'
import { openPool, runWithoutTimeouts } from './pool.ts'
import { maxIdleMs, setIdleTimeout } from './session.ts'

/** Where and how to open a PostgreSQL database. Times are in milliseconds. */
export interface PostgresTarget {
  kind: 'postgres'
  url: string
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  lockTimeoutMs: number
  /** Called when a connection breaks. The pool opens a new connection when it needs one. */
  onConnectionBroken(error: Error): void
}

/**
 * Whether the server accepts timeouts as connection parameters. A pooler such as PgBouncer rejects or ignores them. In
 * that case, each transaction sets the timeouts.
 */
const acceptsStartupParameters = async (config: ClientConfig): Promise<boolean> => {
  try {
    // The constructor reads the certificate files that the URL names, and throws if it cannot read them.
    const client = new Client(config)
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query<{ setting: string }>(
        "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'",
      )
      return rows[0]?.setting === String(config.statement_timeout)
    } finally {
      await client.end().catch(() => undefined)
    }
  } catch (error) {
    if (sqlState(error) === '08P01') return false
    throw new Error('cannot connect to PostgreSQL (DATABASE_URL)', { cause: error })
  }
}

/**
 * Throws if the database encoding is not UTF8. Names and remarks in some scripts cannot be stored in other encodings.
 */
const assertEncoding = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ server_encoding: string }>('SHOW server_encoding')
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8')
    throw new Error(
      `the database of DATABASE_URL has the encoding ${encoding}; create one with ENCODING 'UTF8' TEMPLATE template0 instead`,
    )
}

/**
 * Opens a connection pool of limited size with statement timeouts. The URL can point to the server or to a pooler in
 * transaction mode.
 */
export const openPostgres = async (target: PostgresTarget): Promise<OpenDatabase> => {
  const { statementTimeoutMs, lockTimeoutMs, onConnectionBroken } = target
  const base = {
    connectionString: target.url,
    application_name: 'portico',
    connectionTimeoutMillis: target.connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser: (oid, format) => valueParsers[oid] ?? types.getTypeParser(oid, format) },
  } satisfies ClientConfig
  const timeouts = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: maxIdleMs,
  }
  const direct = await acceptsStartupParameters({ ...base, ...timeouts })
  const preamble = [
    `SET LOCAL statement_timeout = ${statementTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
    setIdleTimeout(maxIdleMs),
  ].join('; ')
  // Set a timeout in the client, too, because a server that stops responding cannot enforce `statement_timeout`.
  const config = { ...base, max: target.poolSize, query_timeout: statementTimeoutMs * 2 }
  const { pool, database } = direct
    ? openPool({ ...config, ...timeouts }, null, onConnectionBroken)
    : openPool({ ...config, pipeline: true }, preamble, onConnectionBroken)
  try {
    await assertEncoding(pool)
  } catch (error) {
    await database.destroy()
    throw error
  }
  const withoutTimeouts: WithoutTimeouts = (work, signal) =>
    runWithoutTimeouts({ config: base, onConnectionBroken }, work, signal)
  return {
    database,
    kind: 'postgres',
    // Subtract idle connections, because the pool hands an idle connection to a waiting caller within the same tick.
    waiting: () => Math.max(0, pool.waitingCount - pool.idleCount),
    check: async () => void (await pool.query('SELECT 1')),
    withoutTimeouts,
    migrate: (owners) => withoutTimeouts((database) => migrate(database, owners)),
    fatal: new Promise(() => undefined),
    close: () => database.destroy(),
  }
}
