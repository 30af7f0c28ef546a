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

export function urlOf(serverUrl: string, database: string): string {
  return new URL(`/${database}`, serverUrl).href
}

export async function execute(connectionString: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(statements.join(';')).finally(() => client.end())
}

export async function copyDatabase(serverUrl: string, template: string) {
  const name = `portico_${randomUUID().replaceAll('-', '')}`
  await execute(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  return { name, drop: () => execute(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`) }
}

export function openServer(url: string, poolSize: number): Promise<OpenDatabase> {
  return openPostgres({ ...postgresTarget(url), poolSize, lockTimeoutMs: 20_000 })
}

async function migrateServer(url: string): Promise<void> {
  const { database, close } = await openServer(url, 1)
  await migrate(database, schemaOwners).finally(close)
}

/** Copies a data directory that the run creates once, because `initdb` takes seconds. */
async function startPrepared(
  name: string,
  extra: Record<string, string> = {},
  prepare?: (url: string) => Promise<void>,
): Promise<TestPostgres | undefined> {
  return startPostgresCopy(await prepareOnce(name, (folder) => createPostgresFiles(folder, prepare)), extra)
}

export function emptyPostgres(extra?: Record<string, string>) {
  return startPrepared('postgres-empty', extra)
}

/** Has the development accounts. */
export function seededPostgres(extra?: Record<string, string>) {
  return startPrepared('postgres-seeded', extra, (url) => seed({ DATABASE_URL: url }))
}

const migratedTemplate = 'portico_migrated'

/** Starts a server with a template for `copyDatabase`. */
export async function startWithTemplate(template: string, fill: (url: string) => Promise<void>) {
  const server = await startPostgres()
  if (!server) return undefined
  await execute(server.url, `CREATE DATABASE ${template}`)
  await fill(urlOf(server.url, template))
  return server
}

export function startMigrated() {
  return startWithTemplate(migratedTemplate, migrateServer)
}

/** A database on the server of the run. Undefined if PostgreSQL is not installed. */
export async function migratedDatabase() {
  const serverUrl = await (await fetch(inject('postgresStarter'))).text()
  if (serverUrl === '') return undefined
  const { name, drop } = await copyDatabase(serverUrl, migratedTemplate)
  return { url: urlOf(serverUrl, name), drop }
}
