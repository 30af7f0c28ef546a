import { bankingDomains } from '../../src/banking/index.ts'
import type { Variables } from '../../src/config/env.ts'
import { captureLog } from './log.ts'
import { copyOf, type Directory } from './prepared.ts'
import { testSettings } from './settings.ts'

/** Starts a gateway on the store. */
export async function seed(variables: Variables): Promise<void> {
  // Most test files copy a prepared store and need no gateway.
  const { startServer } = await import('../../src/main.ts')
  await (await startServer(bankingDomains, testSettings(variables), 'gateway', captureLog().logger)).stop()
}

/** Seeding takes seconds, so a run seeds once and copies. */
export function seededDirectory(): Promise<Directory> {
  return copyOf('embedded-seeded', (directory) => seed({ PORTICO_DATA_DIR: directory }))
}
