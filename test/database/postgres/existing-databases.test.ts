import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../../src/banking/index.ts'
import { type OpenDatabase, openDatabase } from '../../../src/database/index.ts'
import { startServer } from '../../../src/main.ts'
import { schemaOwners } from '../../harness/domains.ts'

import { captureLog } from '../../harness/log.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'
import { testSettings } from '../../harness/settings.ts'

const server = await emptyPostgres()
afterAll(() => server?.stop())

function urlOf(name: string, role = 'portico'): string {
  const url = new URL(server?.url ?? '')
  url.pathname = `/${name}`
  url.username = role
  return url.href
}

async function execute(database: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: urlOf(database) })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function createDatabase(options = ''): Promise<string> {
  const name = `d${randomUUID().replaceAll('-', '')}`
  await execute('postgres', `CREATE DATABASE ${name} ${options}`)
  return name
}

function open(url: string): Promise<OpenDatabase> {
  return openDatabase(postgresTarget(url))
}

function reasonOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof Error ? [error.message, error.cause].map(String).join(': ') : error),
  )
}

async function migrateError(url: string): Promise<unknown> {
  const store = await open(url)
  return reasonOf(store.migrate(schemaOwners)).finally(() => store.close())
}

describe('a database with other defaults', needsPostgres(server), () => {
  test.each(['LATIN1', 'SQL_ASCII'])('open in %s: refused, because it lacks some scripts', async (encoding) => {
    const name = await createDatabase(`ENCODING '${encoding}' TEMPLATE template0`)
    expect(await reasonOf(open(urlOf(name)))).toContain(`the encoding ${encoding}`)
  })

  test('migrate without write access: the error names the permission or the read-only mode', async () => {
    await execute('postgres', 'CREATE ROLE newcomer LOGIN')
    const name = await createDatabase()
    expect(await migrateError(urlOf(name, 'newcomer'))).toContain('permission denied for schema public')
    await execute('postgres', `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect(await migrateError(urlOf(name))).toContain('cannot execute CREATE TABLE in a read-only transaction')
  })

  test('serve on a read-only database: refuses to start and names the setting', async () => {
    const name = await createDatabase()
    await execute(name, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const starting = startServer(
      bankingDomains,
      testSettings({ DATABASE_URL: urlOf(name) }),
      'gateway',
      captureLog().logger,
    )
    expect(await reasonOf(starting)).toContain('default_transaction_read_only is on')
  })

  test('roles: one schema each, and a role can use tables that another one created', async () => {
    const name = await createDatabase()
    await execute(
      name,
      'CREATE ROLE east LOGIN',
      'CREATE ROLE west LOGIN',
      'CREATE SCHEMA east AUTHORIZATION east',
      'CREATE SCHEMA west AUTHORIZATION west',
      'GRANT USAGE ON SCHEMA east TO west',
    )
    for (const role of ['east', 'west']) {
      const store = await open(urlOf(name, role))
      expect(await store.migrate(schemaOwners)).toContain('audit/001-baseline')
      expect(await store.migrate(schemaOwners)).toEqual([])
      const { rows } = await sql<{ schema: string }>`
        SELECT DISTINCT schemaname AS schema FROM pg_tables WHERE tableowner = ${role}`.execute(store.database)
      expect(rows).toEqual([{ schema: role }])
      await store.close()
    }
    await execute(
      name,
      'CREATE ROLE guest LOGIN',
      'ALTER ROLE guest SET search_path = guest, east',
      'GRANT USAGE ON SCHEMA east TO guest',
      'GRANT SELECT ON ALL TABLES IN SCHEMA east TO guest',
    )
    const guest = await open(urlOf(name, 'guest'))
    expect(await guest.migrate(schemaOwners)).toEqual([])
    await guest.close()
  })
})
