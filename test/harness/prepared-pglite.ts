import { PGlite } from '@electric-sql/pglite'
import { inject } from 'vitest'
import { embeddedStorePath } from '../../src/database/embedded/data-directory.ts'
import { openEmbedded } from '../../src/database/embedded/open-embedded.ts'
import { valueParsers } from '../../src/database/tables.ts'
import { schemaOwners } from './domains.ts'
import { copyDirectory, prepareOnce } from './prepared.ts'

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

const openCopy = async (name: string, fill: (directory: string) => Promise<void>): Promise<TestPglite> => {
  const runFolder = inject('runFolder')
  const { directory, remove } = await copyDirectory(runFolder, await prepareOnce(runFolder, name, fill))
  const pglite = await PGlite.create({ parsers: valueParsers, dataDir: embeddedStorePath(directory) })
  const close = async (): Promise<void> => {
    await pglite.close()
    await remove()
  }
  return { pglite, close }
}

/** Copies a store that the run creates once, because `initdb` takes seconds. */
export const emptyPglite = (): Promise<TestPglite> => openCopy('embedded-empty', create)

export const migratedPglite = (): Promise<TestPglite> => openCopy('embedded-migrated', createMigrated)
