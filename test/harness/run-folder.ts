import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { TestPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** All workers share it. It is removed when the run ends. */
    runFolder: string
    /** Replies with the URL of a PostgreSQL server, which the first request starts. Empty if it is not installed. */
    postgresStarter: string
  }
}

/** Runs once, after the projects are set up. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-run-'))
  // PostgreSQL runs as another user if the tests run as root.
  await chmod(folder, 0o711)
  let postgres: Promise<TestPostgres | undefined> | undefined
  const starter = createServer((_, response) => {
    postgres ??= import('./prepared-postgres.ts').then(({ startMigrated }) => startMigrated())
    // The end of the run reports the error.
    postgres.then((server) => response.end(server?.url)).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(starter, 'listening')
  project.provide('runFolder', folder)
  project.provide('postgresStarter', `http://127.0.0.1:${(starter.address() as AddressInfo).port}`)
  return async () => {
    starter.close()
    await (await postgres)?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
