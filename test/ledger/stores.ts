import { schemaOwners } from '../../src/compose/migrations.ts'
import { migrate } from '../../src/database/migrator/migrate.ts'
import { openPostgres } from '../../src/database/postgres/open-postgres.ts'
import type { Database } from '../../src/database/tables.ts'
import { startPostgres } from '../harness/postgres.ts'
import { testDatabase } from '../identity/database.ts'

export interface TestStore {
  name: string
  database: Database
  close(): Promise<void>
}

export const embeddedStore = async (): Promise<TestStore> => ({ name: 'PGlite', ...(await testDatabase()) })

/** A PostgreSQL server with the whole schema; undefined if none can be started. */
export const postgresStore = async (poolSize = 16): Promise<TestStore | undefined> => {
  const server = await startPostgres()
  if (!server) return undefined
  const { database, close } = await openPostgres({
    kind: 'postgres',
    url: server.url,
    poolSize,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 20_000,
    lockTimeoutMs: 20_000,
    onConnectionBroken: () => undefined,
  })
  await migrate(database, schemaOwners)
  return {
    name: `PostgreSQL ${server.version.split(' ')[0]}`,
    database,
    close: async () => {
      await close()
      await server.stop()
    },
  }
}

/** The embedded store, and PostgreSQL if available. */
export const everyStore = async (): Promise<TestStore[]> => {
  const opened = await Promise.all([embeddedStore(), postgresStore()])
  return opened.filter((store) => store !== undefined)
}
