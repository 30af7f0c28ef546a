import { Kysely, PostgresDialect } from 'kysely'
import { Client, type ClientConfig, Pool } from 'pg'
import type { Tables } from '../tables.ts'
import { guardedPool } from './guarded-pool.ts'
import { sessionPreamble, transactionPreamble } from './session.ts'

/**
 * The pool forgets a connection that could not be made, and leaves it open where it was not the server who ended it: one that
 * asks for a password that we don't have would keep each of them for a minute, and soon let nobody in.
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

/** Connections to PostgreSQL, at most `max`; with a `preamble` every transaction begins with it (guarded-pool.ts). */
export const openPool = (
  config: ClientConfig & { max: number },
  preamble: string | null,
  onConnectionBroken: (error: Error) => void,
) => {
  const all = { ...config, Client: ClosingClient }
  const pool = new Pool(preamble === null ? { ...all, onConnect: (client) => client.query(sessionPreamble) } : all)
  // Each connection tells of itself, in use or idle; the pool would tell of the idle ones again.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onConnectionBroken))
  const dialect = new PostgresDialect({
    pool: guardedPool(pool, preamble === null ? null : `${transactionPreamble}; ${preamble}`),
  })
  return { pool, database: new Kysely<Tables>({ dialect }) }
}
