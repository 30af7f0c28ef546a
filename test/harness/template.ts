import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../src/main.ts'
import { captureLog } from './log.ts'
import { testSettings } from './settings.ts'

/** A new embedded store takes seconds to make; one is made for a run of the suite, and tests work on copies of it. */
export const createTemplate = async (): Promise<{ directory: string; remove(): Promise<void> }> => {
  const parent = await mkdtemp(join(tmpdir(), 'portico-template-'))
  const directory = join(parent, 'data')
  await mkdir(directory)
  const running = await startServer(testSettings({ PORTICO_DATA_DIR: directory }), 'gateway', captureLog().logger)
  await running.stop()
  return { directory, remove: () => rm(parent, { recursive: true, force: true }) }
}

export const copyTemplate = async (template: string): Promise<{ directory: string; remove(): Promise<void> }> => {
  const parent = await mkdtemp(join(tmpdir(), 'portico-test-'))
  const directory = join(parent, 'data')
  await cp(template, directory, { recursive: true })
  return { directory, remove: () => rm(parent, { recursive: true, force: true }) }
}
