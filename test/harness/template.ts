import { inject } from 'vitest'
import { startServer } from '../../src/main.ts'
import { captureLog } from './log.ts'
import { copyDirectory, type Directory, prepareOnce } from './prepared.ts'
import { testSettings } from './settings.ts'

const seed = async (directory: string): Promise<void> => {
  const running = await startServer(testSettings({ PORTICO_DATA_DIR: directory }), 'gateway', captureLog().logger)
  await running.stop()
}

/** A migrated and seeded data directory for one test file. Seeding takes seconds, so a run seeds one and copies it. */
export const seededDirectory = async (): Promise<Directory> => {
  const runFolder = inject('runFolder')
  return copyDirectory(runFolder, await prepareOnce(runFolder, 'embedded-seeded', seed))
}
