import { Kysely } from 'kysely'
import { type ClientConfig, Pool } from 'pg'
import { LocklessPostgresDialect } from './adapter.ts'
import { guardedPool } from './guarded-pool.ts'
import type { Tables } from './tables/index.ts'

/** Connections to PostgreSQL, at most `max`; with a `preamble` every transaction begins with it (guarded-pool.ts). */
export const openPool = (
  config: ClientConfig & { max: number },
  preamble: string | null,
  onIdleError: (error: Error) => void,
) => {
  const pool = new Pool(config)
  pool.on('error', onIdleError)
  // The pool listens to idle connections only; a broken one that is in use would end the process.
  pool.on('connect', (client) => client.on('error', onIdleError))
  const dialect = new LocklessPostgresDialect({ pool: guardedPool(pool, preamble) })
  return { pool, database: new Kysely<Tables>({ dialect }) }
}
