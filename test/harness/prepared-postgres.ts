import { inject } from 'vitest'
import { migrate } from '../../src/database/migrator/migrate.ts'
import type { OpenDatabase } from '../../src/database/port.ts'
import { openPostgres } from '../../src/database/postgres/open-postgres.ts'
import { schemaOwners } from './domains.ts'
import { createPostgresFiles, startPostgresCopy, type TestPostgres } from './postgres.ts'
import { prepareOnce } from './prepared.ts'
import { seed } from './template.ts'

export const openServer = (url: string, poolSize: number): Promise<OpenDatabase> =>
  openPostgres({
    kind: 'postgres',
    url,
    poolSize,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 20_000,
    lockTimeoutMs: 20_000,
    onConnectionBroken: () => undefined,
  })

const migrateServer = async (url: string): Promise<void> => {
  const { database, close } = await openServer(url, 1)
  try {
    await migrate(database, schemaOwners)
  } finally {
    await close()
  }
}

/** Copies a data directory that the run creates once, because `initdb` takes seconds. */
export const emptyPostgres = async (extra: Record<string, string> = {}): Promise<TestPostgres | undefined> =>
  startPostgresCopy(
    await prepareOnce(inject('runFolder'), 'postgres-empty', (folder) => createPostgresFiles(folder)),
    extra,
  )

const startPrepared = async (
  name: string,
  prepare: (url: string) => Promise<void>,
  extra: Record<string, string> = {},
): Promise<TestPostgres | undefined> =>
  startPostgresCopy(
    await prepareOnce(inject('runFolder'), name, (folder) => createPostgresFiles(folder, prepare)),
    extra,
  )

export const migratedPostgres = (): Promise<TestPostgres | undefined> =>
  startPrepared('postgres-migrated', migrateServer)

/** Has the development accounts. */
export const seededPostgres = (extra: Record<string, string> = {}): Promise<TestPostgres | undefined> =>
  startPrepared('postgres-seeded', (url) => seed({ DATABASE_URL: url }), extra)
