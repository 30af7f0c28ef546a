import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenDatabase, openDatabase } from '../../../src/database/index.ts'
import { type SchemaOwner, sqlMigration } from '../../../src/database/migrator/migration.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

// The server detects the deadlock before the migration gives up waiting.
const server = await emptyPostgres({ deadlock_timeout: '100ms' })
afterAll(() => server?.stop())

function reasonOf(done: Promise<unknown>): Promise<unknown> {
  return done.then(
    () => 'none',
    (error: unknown) => (error instanceof Error ? String(error.cause) : error),
  )
}

const loans: SchemaOwner = {
  owner: 'loans',
  migrations: [sqlMigration('001-baseline', ['CREATE TABLE loans (id integer)', 'CREATE TABLE terms (id integer)'])],
}
function grown(owner: SchemaOwner, ...added: SchemaOwner['migrations']): SchemaOwner {
  return {
    ...owner,
    migrations: [...owner.migrations, ...added],
  }
}

describe('migrate', needsPostgres(server), () => {
  let store: OpenDatabase
  const other = new Client({ connectionString: server?.url ?? '' })
  beforeAll(async () => {
    store = await openDatabase(postgresTarget(server?.url ?? ''))
    await store.migrate([loans])
    await other.connect()
  })
  afterAll(async () => {
    await other.end()
    await store.close()
  })

  const waiting = async (table: string): Promise<number> => {
    const waits = 'SELECT 1 FROM pg_locks WHERE relation = $1::regclass AND NOT granted'
    return (await other.query(waits, [table])).rows.length
  }
  const columns = async (table: string): Promise<string[]> => {
    const found = sql<{ name: string }>`
      SELECT column_name AS name FROM information_schema.columns WHERE table_name = ${table} ORDER BY ordinal_position`
    return (await found.execute(store.database)).rows.map(({ name }) => name)
  }

  test('two owners number their migrations independently, and the order of owners counts', async () => {
    const payments: SchemaOwner = {
      owner: 'payments',
      migrations: [
        sqlMigration('001-baseline', ['CREATE TABLE payments (id integer)']),
        sqlMigration('002-states', ["ALTER TABLE payments ADD COLUMN state text DEFAULT 'OPEN'"]),
      ],
    }
    const audits: SchemaOwner = {
      owner: 'audits',
      migrations: [sqlMigration('001-baseline', ['CREATE TABLE audits AS SELECT state FROM payments'])],
    }
    const names = ['payments/001-baseline', 'payments/002-states', 'audits/001-baseline']
    expect(await store.migrate([payments, loans, audits])).toEqual(names)
    expect(await store.migrate([payments, loans, audits])).toEqual([])
    expect(await columns('audits')).toEqual(['state'])
  })

  test('a failed migration rolls back those before it', async () => {
    const broken = grown(
      loans,
      sqlMigration('002-broken', ['ALTER TABLE loans ADD COLUMN amount integer', 'ALTER TABLE missing ADD x integer']),
    )
    const earlier: SchemaOwner = { owner: 'earlier', migrations: [sqlMigration('001-a', ['CREATE TABLE earlier ()'])] }
    expect(await reasonOf(store.migrate([earlier, broken]))).toContain('relation "missing" does not exist')
    expect(await columns('loans')).toEqual(['id'])
    const table = sql`SELECT to_regclass('earlier') AS found`
    expect((await table.execute(store.database)).rows).toEqual([{ found: null }])
  })

  test('migrate: an error names the owner, the migration and its statement', async () => {
    const failing: [name: string, migration: SchemaOwner['migrations'][number], message: string][] = [
      [
        'sqlMigration',
        sqlMigration('002-broken', [
          'ALTER TABLE loans ADD COLUMN amount integer',
          'ALTER TABLE\n  missing ADD x integer',
        ]),
        'the migration loans/002-broken failed at the statement `ALTER TABLE missing ADD x integer`; nothing was migrated',
      ],
      [
        'a function',
        { name: '002-filled', up: async (tx) => void (await sql`UPDATE loans SET rate = ${'secret'}`.execute(tx)) },
        'the migration loans/002-filled failed at the statement `UPDATE loans SET rate = $1`; nothing was migrated',
      ],
      [
        'a function without a statement',
        { name: '002-empty', up: () => Promise.reject(new Error('no loans')) },
        'the migration loans/002-empty failed; nothing was migrated',
      ],
    ]
    for (const [name, migration, message] of failing)
      await expect(store.migrate([grown(loans, migration)]), name).rejects.toThrow(new Error(message))
  })

  test('a migration that contradicts the store is refused', async () => {
    const renamed = { owner: 'loans', migrations: [sqlMigration('001-start', [])] }
    expect(await reasonOf(store.migrate([renamed]))).toContain('has applied loans/001-baseline')
  })

  test('migrate: a missing checksum is filled in, and a changed migration is refused', async () => {
    const checksums = async () => {
      const found = store.database.selectFrom('portico_migrations').select('checksum').where('owner', '=', 'loans')
      return (await found.execute()).map(({ checksum }) => checksum)
    }
    const own = await checksums()
    expect(own).toEqual(loans.migrations.map(({ checksum }) => checksum))
    await other.query('ALTER TABLE portico_migrations DROP COLUMN checksum')
    expect(await store.migrate([loans])).toEqual([])
    expect(await checksums()).toEqual(own)
    const changed = { owner: 'loans', migrations: [sqlMigration('001-baseline', ['CREATE TABLE loans (id text)'])] }
    expect(await reasonOf(store.migrate([changed]))).toContain(
      'the migration loans/001-baseline has changed since the store applied it: restore the applied one',
    )
    expect(await checksums()).toEqual(own)
  })

  test('migrate: a role that cannot add the checksums starts without them', async () => {
    await other.query('ALTER TABLE portico_migrations DROP COLUMN checksum')
    await other.query('CREATE ROLE server LOGIN; GRANT SELECT, UPDATE ON portico_migrations TO server')
    const url = new URL(server?.url ?? '')
    url.username = 'server'
    const restricted = await openDatabase(postgresTarget(url.href))
    expect(await restricted.migrate([loans])).toEqual([])
    await restricted.close()
    expect(await store.migrate([loans])).toEqual([])
  })

  test('a migration that deadlocks with a request runs again, and the request loses nothing', async () => {
    const owner = grown(
      loans,
      sqlMigration('002-amounts', [
        'ALTER TABLE terms ADD COLUMN amount integer',
        'ALTER TABLE loans ADD COLUMN amount integer',
      ]),
    )
    // The other transaction waits longer, so the server aborts the migration.
    await other.query("SET deadlock_timeout = '1h'")
    await other.query('BEGIN')
    await other.query('LOCK TABLE loans IN ROW EXCLUSIVE MODE')
    const request = async () => {
      await expect.poll(() => waiting('loans'), { interval: 5 }).toBe(1)
      await other.query('LOCK TABLE terms IN ROW EXCLUSIVE MODE')
      await other.query('COMMIT')
    }
    expect(await Promise.all([store.migrate([owner]), request()])).toEqual([['loans/002-amounts'], undefined])
    expect(await columns('loans')).toEqual(['id', 'amount'])
  })

  test('a migration that cannot lock a table in 2 s lets waiting requests pass, and runs again', async () => {
    const owner: SchemaOwner = {
      owner: 'limits',
      migrations: [sqlMigration('001-baseline', ['ALTER TABLE terms ADD COLUMN maximum integer'])],
    }
    await other.query('BEGIN')
    await other.query('LOCK TABLE terms IN ROW EXCLUSIVE MODE')
    const request = async () => {
      await expect.poll(() => waiting('terms'), { interval: 5 }).toBe(1)
      await expect.poll(() => waiting('terms'), { interval: 5 }).toBe(0)
      await other.query('COMMIT')
    }
    expect(await Promise.all([store.migrate([owner]), request()])).toEqual([['limits/001-baseline'], undefined])
    expect(await columns('terms')).toContain('maximum')
  })
})
