import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { bankingDomains } from '../../src/domains/index.ts'
import { captureLog } from './log.ts'
import { copyDirectory, type Directory, prepareOnce } from './prepared.ts'
import { testSettings } from './settings.ts'

/** Migrates and seeds a store by starting a gateway on it. */
export const seed = async (variables: Variables): Promise<void> => {
  // A dynamic import. Most test files copy a prepared store and need no gateway.
  const { startServer } = await import('../../src/main.ts')
  await (await startServer(bankingDomains, testSettings(variables), 'gateway', captureLog().logger)).stop()
}

/**
 * Returns a migrated and seeded data directory for one test file. Seeding takes seconds, so a run seeds once and
 * copies.
 */
export const seededDirectory = async (): Promise<Directory> => {
  const runFolder = inject('runFolder')
  const fill = (directory: string) => seed({ PORTICO_DATA_DIR: directory })
  return copyDirectory(runFolder, await prepareOnce(runFolder, 'embedded-seeded', fill))
}
