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

function open(directory: string) {
  return openEmbedded({ directory, isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined })
}

async function create(directory: string): Promise<void> {
  return (await open(directory)).close()
}

async function createMigrated(directory: string): Promise<void> {
  const store = await open(directory)
  await store.migrate(schemaOwners)
  await store.close()
}

async function openCopy({ directory, remove }: Directory): Promise<TestPglite> {
  const pglite = await PGlite.create({ parsers: valueParsers, dataDir: embeddedStorePath(directory) })
  const close = async (): Promise<void> => {
    await pglite.close()
    await remove()
  }
  return { pglite, close }
}

/** A store without tables. The run creates it once and copies it, because `initdb` takes seconds. */
export function emptyDirectory(): Promise<Directory> {
  return copyOf('embedded-empty', create)
}

export async function emptyPglite(): Promise<TestPglite> {
  return openCopy(await emptyDirectory())
}

export async function migratedPglite(): Promise<TestPglite> {
  return openCopy(await copyOf('embedded-migrated', createMigrated))
}
