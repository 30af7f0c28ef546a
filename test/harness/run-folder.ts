import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** All workers share it. It is removed when the run ends. */
    runFolder: string
  }
}

/** Runs once, after the projects are set up. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-run-'))
  // PostgreSQL runs as another user if the tests run as root.
  await chmod(folder, 0o711)
  project.provide('runFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
