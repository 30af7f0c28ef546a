import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { captureLog } from './log.ts'
import { copyDirectory, type Directory, prepareOnce } from './prepared.ts'
import { testSettings } from './settings.ts'

/** Migrates a store and creates the development accounts, by starting a gateway on it. */
export const seed = async (variables: Variables): Promise<void> => {
  // Most callers find the store prepared, and never load the gateway.
  const { startServer } = await import('../../src/main.ts')
  await (await startServer(testSettings(variables), 'gateway', captureLog().logger)).stop()
}

/** A migrated and seeded data directory for one test file. Seeding takes seconds, so a run seeds one and copies it. */
export const seededDirectory = async (): Promise<Directory> => {
  const runFolder = inject('runFolder')
  const fill = (directory: string) => seed({ PORTICO_DATA_DIR: directory })
  return copyDirectory(runFolder, await prepareOnce(runFolder, 'embedded-seeded', fill))
}
