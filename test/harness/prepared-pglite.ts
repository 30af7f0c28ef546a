import { PGlite } from '@electric-sql/pglite'
import { embeddedStorePath } from '../../src/database/embedded/data-directory.ts'
import { openEmbedded } from '../../src/database/embedded/open-embedded.ts'
import { valueParsers } from '../../src/database/tables.ts'
import { schemaOwners } from './domains.ts'
import { copyOf, type Directory } from './prepared.ts'

export interface TestPglite {
  pglite: PGlite
  close(): Promise<void>
}

const open = (directory: string) =>
  openEmbedded({ directory, isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined })

const create = async (directory: string): Promise<void> => (await open(directory)).close()

const createMigrated = async (directory: string): Promise<void> => {
  const store = await open(directory)
  await store.migrate(schemaOwners)
  await store.close()
}

const openCopy = async ({ directory, remove }: Directory): Promise<TestPglite> => {
  const pglite = await PGlite.create({ parsers: valueParsers, dataDir: embeddedStorePath(directory) })
  const close = async (): Promise<void> => {
    await pglite.close()
    await remove()
  }
  return { pglite, close }
}

/** A store without tables. The run creates it once and copies it, because `initdb` takes seconds. */
export const emptyDirectory = (): Promise<Directory> => copyOf('embedded-empty', create)

export const emptyPglite = async (): Promise<TestPglite> => openCopy(await emptyDirectory())

export const migratedPglite = async (): Promise<TestPglite> =>
  openCopy(await copyOf('embedded-migrated', createMigrated))
