/* The gateway from which the tests generate clients. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startProcess } from '../harness/process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    generators: { url: string; operationsUrl: string }
  }
}

/** Starts one gateway for all tests. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-generators-'))
  const { url, operationsUrl, stop } = await startProcess({
    PORTICO_DATA_DIR: folder,
    PORTICO_RATE_LIMIT_SCALE: '1000',
    LOG_LEVEL: 'warn',
  })
  project.provide('generators', { url, operationsUrl })
  return async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
}
