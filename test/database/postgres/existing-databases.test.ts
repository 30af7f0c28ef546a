import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { schemaOwners } from '../../../src/compose/migrations.ts'
import { type OpenDatabase, openDatabase } from '../../../src/database/index.ts'
import { startServer } from '../../../src/main.ts'

import { captureLog } from '../../harness/log.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'
import { testSettings } from '../../harness/settings.ts'

const server = await emptyPostgres()
afterAll(() => server?.stop())

const urlOf = (name: string, role = 'portico'): string => {
  const url = new URL(server?.url ?? '')
  url.pathname = `/${name}`
  url.username = role
  return url.href
}

const tell = async (database: string, ...statements: string[]): Promise<void> => {
  const client = new Client({ connectionString: urlOf(database) })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const made = async (options = ''): Promise<string> => {
  const name = `d${randomUUID().replaceAll('-', '')}`
  await tell('postgres', `CREATE DATABASE ${name} ${options}`)
  return name
}

const open = (url: string): Promise<OpenDatabase> => openDatabase(postgresTarget(url))

const reasonOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'none',
    (error: unknown) => (error instanceof Error ? [error.message, error.cause].map(String).join(': ') : error),
  )

const migrating = async (url: string): Promise<unknown> => {
  const store = await open(url)
  return reasonOf(store.migrate(schemaOwners)).finally(() => store.close())
}

describe.skipIf(!server)('a database as somebody else has made it', () => {
  test.each(['LATIN1', 'SQL_ASCII'])('%s is refused at the start, since it has not every script', async (encoding) => {
    const name = await made(`ENCODING '${encoding}' TEMPLATE template0`)
    expect(await reasonOf(open(urlOf(name)))).toContain(`the encoding ${encoding}`)
  })

  test('a migration that may not write says so: no right to, or a database that is read only', async () => {
    await tell('postgres', 'CREATE ROLE newcomer LOGIN')
    const name = await made()
    expect(await migrating(urlOf(name, 'newcomer'))).toContain('permission denied for schema public')
    await tell('postgres', `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect(await migrating(urlOf(name))).toContain('cannot execute CREATE TABLE in a read-only transaction')
  })

  test('who serves does not start where nothing can be written, and is told which setting it is', async () => {
    const name = await made()
    await tell(name, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const starting = startServer(testSettings({ DATABASE_URL: urlOf(name) }), 'gateway', captureLog().logger)
    expect(await reasonOf(starting)).toContain('default_transaction_read_only is on')
  })

  test('two roles have a schema each, and one has its tables made by another', async () => {
    const name = await made()
    await tell(
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
    await tell(
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
