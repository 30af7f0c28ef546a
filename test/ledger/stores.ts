import { sql } from 'kysely'
import type { Database } from '../../src/database/tables.ts'
import { migratedDatabase, openServer } from '../harness/prepared-postgres.ts'
import { testDatabase } from '../identity/database.ts'

export interface TestStore {
  name: string
  database: Database
  close(): Promise<void>
}

export async function embeddedStore(): Promise<TestStore> {
  return { name: 'PGlite', ...(await testDatabase()) }
}

/** Undefined if PostgreSQL cannot be started. */
export async function postgresStore(poolSize = 16): Promise<TestStore | undefined> {
  const copy = await migratedDatabase()
  if (!copy) return undefined
  const { database, close } = await openServer(copy.url, poolSize)
  return {
    name: 'PostgreSQL',
    database,
    close: async () => {
      await close()
      await copy.drop()
    },
  }
}

export async function everyStore(): Promise<TestStore[]> {
  const opened = await Promise.all([embeddedStore(), postgresStore()])
  return opened.filter((store) => store !== undefined)
}

/** Counts the connections to the database of PostgreSQL that wait for a lock. */
export async function lockWaits(database: Database): Promise<number> {
  const isWaiting = sql`datname = current_database() AND wait_event_type = 'Lock'`
  return (await sql`SELECT FROM pg_stat_activity WHERE ${isWaiting}`.execute(database)).rows.length
}
