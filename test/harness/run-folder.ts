import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Temporary folder of the run. All workers share it. It is removed when the run ends. */
    runFolder: string
  }
}

/** Runs once per run, after the projects are set up. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-run-'))
  // If the tests run as root, PostgreSQL runs as another user. That user must be able to enter this folder.
  await chmod(folder, 0o711)
  project.provide('runFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
