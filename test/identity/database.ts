import { PGlite } from '@electric-sql/pglite'
import { Kysely } from 'kysely'
import { inject } from 'vitest'
import { schemaOwners } from '../../src/compose/migrations.ts'
import { embeddedStorePath } from '../../src/database/embedded/data-directory.ts'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { openEmbedded } from '../../src/database/embedded/open-embedded.ts'
import { type Database, type Tables, valueParsers } from '../../src/database/tables.ts'

import { copyDirectory, prepareOnce } from '../harness/prepared.ts'

export interface TestDatabase {
  database: Database
  close(): Promise<void>
}

const migrated = async (directory: string): Promise<void> => {
  const store = await openEmbedded({ directory, isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined })
  await store.migrate(schemaOwners)
  await store.close()
}

/** An empty PGlite store with the whole schema: a copy of one that the run creates once. */
export const testDatabase = async (): Promise<TestDatabase> => {
  const runFolder = inject('runFolder')
  const template = await prepareOnce(runFolder, 'embedded-migrated', migrated)
  const { directory, remove } = await copyDirectory(runFolder, template)
  const pglite = await PGlite.create({ parsers: valueParsers, dataDir: embeddedStorePath(directory) })
  return {
    database: new Kysely<Tables>({ dialect: embeddedDialect(pglite) }),
    close: async () => {
      await pglite.close()
      await remove()
    },
  }
}
