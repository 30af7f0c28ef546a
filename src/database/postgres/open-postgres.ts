import type { LookupFunction } from 'node:net'
import { Client, type ClientConfig, types } from 'pg'
import { sqlState } from '../errors.ts'
import { holdLimit, type TraceStatement } from '../lease.ts'
import { migrate } from '../migrator/migrate.ts'
import type { OpenDatabase, ServerWatch, WithoutTimeouts } from '../port.ts'
import { valueParsers } from '../tables.ts'
import { ResolvingSocket } from './client.ts'
import { openPool, runWithoutTimeouts } from './pool.ts'
import { maxIdleMs, setIdleTimeout } from './session.ts'

/** Times are in milliseconds. */
export interface PostgresTarget {
  kind: 'postgres'
  url: string
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  lockTimeoutMs: number
  /** Default: that of Node. */
  lookup?: LookupFunction
  trace?: TraceStatement | undefined
  onConnectionBroken(error: Error): void
  watch?: ServerWatch
}

/** The URL can name the server or a pooler in transaction mode. */
export async function openPostgres(target: PostgresTarget): Promise<OpenDatabase> {
  const { statementTimeoutMs, lockTimeoutMs, lookup, trace, onConnectionBroken } = target
  const base = {
    connectionString: target.url,
    application_name: 'portico',
    connectionTimeoutMillis: target.connectTimeoutMs,
    keepAlive: true,
    stream: () => new ResolvingSocket(lookup),
    types: { getTypeParser: (oid, format) => valueParsers[oid] ?? types.getTypeParser(oid, format) },
  } satisfies ClientConfig
  const timeouts = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: maxIdleMs,
  }
  const cannotConnect = (cause: unknown) =>
    new Error(`cannot connect to PostgreSQL at ${userOf(target.url)}${serverOf(target.url)} (DATABASE_URL)`, { cause })
  const direct = await acceptsStartupParameters({ ...base, ...timeouts }).catch((error: unknown) => {
    throw cannotConnect(error)
  })
  const preamble = [
    `SET LOCAL statement_timeout = ${statementTimeoutMs}; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
    setIdleTimeout(maxIdleMs),
  ].join('; ')
  // A server that stops responding cannot enforce `statement_timeout`.
  const config = { ...base, max: target.poolSize, query_timeout: statementTimeoutMs * 2 }
  const lease = { limit: holdLimit(statementTimeoutMs), trace }
  const { pool, database, named } = direct
    ? openPool({ ...config, ...timeouts }, null, onConnectionBroken, lease, target.watch)
    : openPool(config, preamble, onConnectionBroken, lease, target.watch)
  try {
    const { rows } = await pool.query<{ serverEncoding: string }>('SHOW server_encoding').catch((error: unknown) => {
      throw cannotConnect(error)
    })
    assertEncoding(rows[0]?.serverEncoding)
  } catch (error) {
    await database.destroy()
    throw error
  }
  const withoutTimeouts: WithoutTimeouts = (work, signal) =>
    runWithoutTimeouts({ config: base, lookup, trace, onConnectionBroken }, work, signal)
  return {
    database,
    named,
    kind: 'postgres',
    // The pool hands an idle connection to a waiting caller within the same tick.
    waiting: () => Math.max(0, pool.waitingCount - pool.idleCount),
    connections: () => ({ inUse: pool.totalCount - pool.idleCount, size: target.poolSize }),
    check: async () => {
      const setting = await pool.query<{ readOnly: string }>(
        `SELECT current_setting('transaction_read_only') AS "readOnly"`,
      )
      return setting.rows[0]?.readOnly === 'on'
        ? 'PostgreSQL accepts no writes: it is a standby, or default_transaction_read_only is on'
        : null
    },
    withoutTimeouts,
    inOwnSession: async (work) => {
      if (!direct) throw new Error('this needs a direct connection to PostgreSQL: DATABASE_URL leads to a pooler')
      const options = '-c statement_timeout=0 -c lock_timeout=0'
      const own = openPool({ ...base, options, max: 1 }, null, onConnectionBroken, { limit: null, trace })
      try {
        return await work(own.database)
      } finally {
        await own.database.destroy()
      }
    },
    migrate: (owners) => withoutTimeouts((database) => migrate(database, owners)),
    fatal: new Promise(() => undefined),
    close: () => database.destroy(),
  }
}

/** Contains no credentials: `db:5432/portico`. */
export function serverOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url)
  const host = searchParams.get('host') || hostname || 'localhost'
  return `${host}:${searchParams.get('port') || port || '5432'}${pathname}`
}

function userOf(url: string): string {
  const { username } = new URL(url)
  return username === '' ? '' : `${decodeURIComponent(username)}@`
}

/** A pooler such as PgBouncer rejects or ignores timeouts as connection parameters. Each transaction then sets them. */
async function acceptsStartupParameters(config: ClientConfig): Promise<boolean> {
  try {
    // The constructor throws if it cannot read the certificate files of the URL.
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
    throw error
  }
}

/** Other encodings cannot store names and remarks in some scripts. */
function assertEncoding(encoding: string | undefined): void {
  if (encoding !== 'UTF8')
    throw new Error(
      `the database of DATABASE_URL has the encoding ${encoding}; create one with ENCODING 'UTF8' TEMPLATE template0 instead`,
    )
}
