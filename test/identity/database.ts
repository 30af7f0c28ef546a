import { Kysely } from 'kysely'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import type { Database, Tables } from '../../src/database/tables.ts'
import { migratedPglite } from '../harness/prepared-pglite.ts'

export interface TestDatabase {
  database: Database
  close(): Promise<void>
}

/** Opens a database with the whole schema. */
export async function testDatabase(): Promise<TestDatabase> {
  const { pglite, close } = await migratedPglite()
  return { database: new Kysely<Tables>({ dialect: embeddedDialect(pglite) }), close }
}
