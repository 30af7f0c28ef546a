import { Kysely } from 'kysely'
import { type ClientConfig, Pool } from 'pg'
import { LocklessPostgresDialect } from './adapter.ts'
import { guardedPool } from './guarded-pool.ts'
import { forSession, forTransaction } from './session.ts'
import type { Tables } from './tables/index.ts'

/** Connections to PostgreSQL, at most `max`; with a `preamble` every transaction begins with it (guarded-pool.ts). */
export const openPool = (
  config: ClientConfig & { max: number },
  preamble: string | null,
  onConnectionBroken: (error: Error) => void,
) => {
  const pool = new Pool(preamble === null ? { ...config, onConnect: (client) => client.query(forSession) } : config)
  // Each connection tells of itself, in use or idle; the pool would tell of the idle ones again.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onConnectionBroken))
  const dialect = new LocklessPostgresDialect({
    pool: guardedPool(pool, preamble === null ? null : `${forTransaction}; ${preamble}`),
  })
  return { pool, database: new Kysely<Tables>({ dialect }) }
}
