import { PGlite } from '@electric-sql/pglite'
import { Kysely } from 'kysely'
import { schemaOwners } from '../../src/compose/migrations.ts'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { migrate } from '../../src/database/migrator/migrate.ts'
import type { Database, Tables } from '../../src/database/tables.ts'
import { valueParsers } from '../../src/database/tables.ts'

/** A database for a test. `close` releases it. */
export interface TestDatabase {
  database: Database
  close(): Promise<void>
}

/** Opens an in-memory PGlite store with the full schema. */
export const testDatabase = async (): Promise<TestDatabase> => {
  const pglite = await PGlite.create({ parsers: valueParsers })
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  await migrate(database, schemaOwners)
  return { database, close: () => pglite.close() }
}
