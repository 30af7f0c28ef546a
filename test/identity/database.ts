import { PGlite } from '@electric-sql/pglite'
import { Kysely } from 'kysely'
import { embeddedDialect } from '../../src/database/embedded-dialect.ts'
import { migrate } from '../../src/database/migrate.ts'
import { parsers } from '../../src/database/parsers.ts'
import type { Database, Tables } from '../../src/database/tables/index.ts'

export interface TestDatabase {
  database: Database
  close(): Promise<void>
}

/** A PGlite of its own, in memory, with every migration. */
export const testDatabase = async (): Promise<TestDatabase> => {
  const pglite = await PGlite.create({ parsers })
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  await migrate(database)
  return { database, close: () => pglite.close() }
}
