import type { Database } from '../../src/database/tables.ts'
import { migratedPostgres, openServer } from '../harness/prepared-postgres.ts'
import { testDatabase } from '../identity/database.ts'

export interface TestStore {
  name: string
  database: Database
  close(): Promise<void>
}

export const embeddedStore = async (): Promise<TestStore> => ({ name: 'PGlite', ...(await testDatabase()) })

/** Undefined if PostgreSQL cannot be started. */
export const postgresStore = async (poolSize = 16): Promise<TestStore | undefined> => {
  const server = await migratedPostgres()
  if (!server) return undefined
  const { database, close } = await openServer(server.url, poolSize)
  return {
    name: `PostgreSQL ${server.version.split(' ')[0]}`,
    database,
    close: async () => {
      await close()
      await server.stop()
    },
  }
}

export const everyStore = async (): Promise<TestStore[]> => {
  const opened = await Promise.all([embeddedStore(), postgresStore()])
  return opened.filter((store) => store !== undefined)
}
