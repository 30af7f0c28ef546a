import { Client, type ClientConfig, type Pool, types } from 'pg'
import { sqlState } from '../errors.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase } from '../open-database.ts'
import { parsers } from '../value-parsers.ts'
import { runWithoutTimeouts } from './long-running-statements.ts'
import { openPool } from './pool.ts'
import { maxIdleMs, setIdleTimeout } from './session.ts'

export interface PostgresTarget {
  kind: 'postgres'
  url: string
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  lockTimeoutMs: number
  /** Told of a connection that broke; the pool replaces it. */
  onConnectionBroken(error: Error): void
}

/**
 * Whether the server takes our timeouts when a connection is made. A pooler (PgBouncer) refuses them or ignores them;
 * then they are said again in each transaction.
 */
const acceptsStartupParameters = async (config: ClientConfig): Promise<boolean> => {
  try {
    // It reads the files that the address names.
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
    throw new Error('no connection to PostgreSQL by DATABASE_URL', { cause: error })
  }
}

/** Names and remarks come in every script, and what another encoding lacks would be refused when it comes. */
const assertEncoding = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ server_encoding: string }>('SHOW server_encoding')
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8')
    throw new Error(
      `the database of DATABASE_URL has the encoding ${encoding}; make one with ENCODING 'UTF8' TEMPLATE template0 instead`,
    )
}

/** A bounded pool whose every statement has its time, on the server directly or behind a pooler in transaction mode. */
export const openPostgres = async (target: PostgresTarget): Promise<OpenDatabase> => {
  const { statementTimeoutMs, lockTimeoutMs, onConnectionBroken } = target
  const base = {
    connectionString: target.url,
    application_name: 'portico',
    connectionTimeoutMillis: target.connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser: (oid, format) => parsers[oid] ?? types.getTypeParser(oid, format) },
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
  // A server that fell silent does not keep its own time.
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
  const patiently = runWithoutTimeouts(base, onConnectionBroken)
  return {
    database,
    kind: 'postgres',
    // An idle one is handed over a moment later.
    waiting: () => Math.max(0, pool.waitingCount - pool.idleCount),
    check: async () => void (await pool.query('SELECT 1')),
    withoutTimeouts: patiently,
    migrate: (owners) => patiently((database) => migrate(database, owners)),
    fatal: new Promise(() => undefined),
    close: () => database.destroy(),
  }
}
