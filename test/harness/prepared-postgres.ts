import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import { migrate } from '../../src/database/migrator/migrate.ts'
import type { OpenDatabase } from '../../src/database/port.ts'
import { openPostgres } from '../../src/database/postgres/open-postgres.ts'
import { schemaOwners } from './domains.ts'
import { createPostgresFiles, startPostgres, startPostgresCopy, type TestPostgres } from './postgres.ts'
import { postgresTarget } from './postgres-target.ts'
import { prepareOnce } from './prepared.ts'
import { seed } from './template.ts'

export const urlOf = (serverUrl: string, database: string): string => new URL(`/${database}`, serverUrl).href

export const execute = async (connectionString: string, ...statements: readonly string[]): Promise<void> => {
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(statements.join(';')).finally(() => client.end())
}

export const copyDatabase = async (serverUrl: string, template: string) => {
  const name = `portico_${randomUUID().replaceAll('-', '')}`
  await execute(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  return { name, drop: () => execute(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`) }
}

export const openServer = (url: string, poolSize: number): Promise<OpenDatabase> =>
  openPostgres({ ...postgresTarget(url), poolSize, lockTimeoutMs: 20_000 })

const migrateServer = async (url: string): Promise<void> => {
  const { database, close } = await openServer(url, 1)
  await migrate(database, schemaOwners).finally(close)
}

/** Copies a data directory that the run creates once, because `initdb` takes seconds. */
const startPrepared = async (
  name: string,
  extra: Record<string, string> = {},
  prepare?: (url: string) => Promise<void>,
): Promise<TestPostgres | undefined> =>
  startPostgresCopy(await prepareOnce(name, (folder) => createPostgresFiles(folder, prepare)), extra)

export const emptyPostgres = (extra?: Record<string, string>) => startPrepared('postgres-empty', extra)

/** Has the development accounts. */
export const seededPostgres = (extra?: Record<string, string>) =>
  startPrepared('postgres-seeded', extra, (url) => seed({ DATABASE_URL: url }))

const migratedTemplate = 'portico_migrated'

/** Starts a server with a template for `copyDatabase`. */
export const startWithTemplate = async (template: string, fill: (url: string) => Promise<void>) => {
  const server = await startPostgres()
  if (!server) return undefined
  await execute(server.url, `CREATE DATABASE ${template}`)
  await fill(urlOf(server.url, template))
  return server
}

export const startMigrated = () => startWithTemplate(migratedTemplate, migrateServer)

/** A database on the server of the run. Undefined if PostgreSQL is not installed. */
export const migratedDatabase = async () => {
  const serverUrl = await (await fetch(inject('postgresStarter'))).text()
  if (serverUrl === '') return undefined
  const { name, drop } = await copyDatabase(serverUrl, migratedTemplate)
  return { url: urlOf(serverUrl, name), drop }
}
