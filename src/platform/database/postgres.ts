import { Kysely, PostgresDialect } from 'kysely'
import { Pool, types } from 'pg'
import type { OpenDatabase } from './open.ts'
import { parsers } from './parsers.ts'
import type { Tables } from './tables/index.ts'

export interface PostgresTarget {
  kind: 'postgres'
  url: string
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  /** Told of a connection that broke while it was idle; the pool replaces it. */
  onIdleError(error: Error): void
}

export const openPostgres = async (target: PostgresTarget): Promise<OpenDatabase> => {
  const pool = new Pool({
    connectionString: target.url,
    max: target.poolSize,
    connectionTimeoutMillis: target.connectTimeoutMs,
    statement_timeout: target.statementTimeoutMs,
    query_timeout: target.statementTimeoutMs * 2,
    types: { getTypeParser: (oid, format) => parsers[oid] ?? types.getTypeParser(oid, format) },
  })
  pool.on('error', target.onIdleError)
  const database = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    database,
    kind: 'postgres',
    check: async () => void (await pool.query('SELECT 1')),
    close: () => database.destroy(),
  }
}
