import { PGlite } from '@electric-sql/pglite'
import { Kysely } from 'kysely'
import { embeddedDialect } from '../../src/database/embedded-dialect.ts'
import type { Database } from '../../src/database/index.ts'
import { migrations } from '../../src/database/migrations/index.ts'
import { parsers } from '../../src/database/parsers.ts'
import type { Tables } from '../../src/database/tables/index.ts'

export interface OldStore {
  database: Database
  /** Brings it up to date. */
  upgrade(): Promise<void>
  close(): Promise<void>
}

/** A store as it was before the first migration of that number. */
export const storeBefore = async (number: string): Promise<OldStore> => {
  const pglite = await PGlite.create({ parsers })
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  const run = (wanted: (name: string) => boolean) =>
    database.transaction().execute(async (tx) => {
      for (const name of Object.keys(migrations).filter(wanted).sort()) await (await migrations[name]?.())?.up(tx)
    })
  await run((name) => name < number)
  return { database, upgrade: () => run((name) => name >= number), close: () => pglite.close() }
}
