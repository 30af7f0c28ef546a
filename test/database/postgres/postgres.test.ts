import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { measureClockSkew } from '../../../src/database/clock-skew.ts'
import { isDatabaseUnavailable, sqlState } from '../../../src/database/errors.ts'
import { sqlMigration } from '../../../src/database/migrator/migration.ts'
import { openPostgres } from '../../../src/database/postgres/open-postgres.ts'
import { acquireSingletonLock } from '../../../src/database/postgres/singleton-lock.ts'
import { readPage } from '../../../src/database/queries.ts'
import { addMs } from '../../../src/kernel/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { startPgBouncer } from '../../harness/pgbouncer.ts'
import { onConnections } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

const server = await emptyPostgres()
const pooler = server && (await startPgBouncer(server.url, 2))
afterAll(async () => {
  await pooler?.stop()
  await server?.stop()
})

function target(url: string, poolSize = 6) {
  return {
    kind: 'postgres',
    url,
    poolSize,
    connectTimeoutMs: 20_000,
    statementTimeoutMs: 20_000,
    lockTimeoutMs: 10_000,
    onConnectionBroken: () => undefined,
  } as const
}

function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(() => undefined).catch((error: unknown) => error)
}

test('a server that denies the login: unavailable', needsPostgres(server), async () => {
  const admin = new Client({ connectionString: server?.url })
  await admin.connect()
  await admin.query('CREATE ROLE shut_out LOGIN')
  const url = new URL(server?.url ?? '')
  url.username = 'shut_out'
  const store = await openPostgres(target(url.href))
  const query = () => sql`SELECT 1`.execute(store.database)
  await query()
  await admin.query('ALTER ROLE shut_out NOLOGIN')
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shut_out'")
  await expect.poll(async () => sqlState(((await failure(query())) as Error | undefined)?.cause)).toBe('28000')
  expect(isDatabaseUnavailable(await failure(query()))).toBe(true)
  await store.close()
  await admin.query('DROP ROLE shut_out')
  await admin.end()
})

test('a server that never responds: fails within connectTimeoutMs', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => void sockets.add(socket))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const address = silent.address()
  const place = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}/a`
  const url = `postgres://a:hidden@${place}`
  const start = performance.now()
  expect(await failure(openPostgres({ ...target(url), connectTimeoutMs: 200 }))).toMatchObject({
    message: `cannot connect to PostgreSQL at a@${place} (DATABASE_URL)`,
  })
  expect(performance.now() - start).toBeLessThan(10_000)
  for (const socket of sockets) socket.destroy()
  silent.close()
})

test('a broken connection: reported once', needsPostgres(server), async () => {
  const errors: Error[] = []
  const store = await openPostgres({
    ...target(server?.url ?? '', 1),
    onConnectionBroken: (error) => errors.push(error),
  })
  const admin = new Client({ connectionString: server?.url })
  await admin.connect()
  const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(store.database)
  await admin.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
  await expect.poll(() => errors.length).toBeGreaterThan(0)
  await pause(100)
  expect(errors.map((error) => sqlState(error))).toEqual(['57P01'])
  await admin.end()
  await store.close()
})

test('measureClockSkew: zero within the round trip', needsPostgres(server), async () => {
  const store = await openPostgres(target(server?.url ?? '', 1))
  const differenceAt = (shift: number) =>
    measureClockSkew(store.database, { now: () => addMs(systemClock.now(), shift) })
  expect(await differenceAt(0)).toBe(0)
  expect(Math.abs((await differenceAt(120_000)) + 120_000)).toBeLessThan(60_000)
  expect(Math.abs((await differenceAt(-120_000)) - 120_000)).toBeLessThan(60_000)
  await store.close()
})

describe('a server that has become read-only', needsPostgres(server), () => {
  const write = (store: Awaited<ReturnType<typeof openPostgres>>) =>
    sql`CREATE TABLE IF NOT EXISTS written (n int)`.execute(store.database)

  test('fails one write, and its connections are not used again', async () => {
    const store = await openPostgres(target(server?.url ?? '', 2))
    const demote = sql`SELECT set_config('default_transaction_read_only', 'on', false)`
    const before = await onConnections(store, 2, demote)
    const error = await failure(write(store))
    expect([sqlState(error), isDatabaseUnavailable(error)]).toEqual(['25006', true])
    for (const pid of await onConnections(store, 2)) expect(before).not.toContain(pid)
    // Of concurrent CREATE TABLE statements one fails, even with IF NOT EXISTS.
    await write(store)
    await Promise.all([write(store), write(store)])
    await store.close()
  })

  test('its check says so, and whether it accepts writes again', async () => {
    const store = await openPostgres(target(server?.url ?? '', 1))
    const set = (value: string) => sql`SELECT set_config('default_transaction_read_only', ${value}, false)`
    expect(await store.check()).toBeNull()
    await set('on').execute(store.database)
    expect(await store.check()).toContain('accepts no writes')
    await set('off').execute(store.database)
    expect(await store.check()).toBeNull()
    await store.close()
  })

  test('and stays read-only: other connections are retired at most once per second', async () => {
    const admin = new Client({ connectionString: server?.url })
    await admin.connect()
    await admin.query('CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on')
    const url = new URL(server?.url ?? '')
    url.username = 'reader'
    const store = await openPostgres(target(url.href, 2))
    // Sockets and timeouts run in real time.
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      await failure(write(store))
      const before = await onConnections(store, 2)
      vi.advanceTimersByTime(500)
      expect(sqlState(await failure(write(store)))).toBe('25006')
      expect((await onConnections(store, 2)).filter((pid) => before.includes(pid))).toHaveLength(1)
    } finally {
      vi.useRealTimers()
    }
    await store.close()
    await admin.query('DROP ROLE reader')
    await admin.end()
  })
})

describe.each([
  ['PostgreSQL', server],
  ['PostgreSQL behind PgBouncer in transaction mode', pooler],
] as const)('%s', (name, running) => {
  if (!running) return void test('a server', needsPostgres(running), () => undefined)
  const { url } = running
  let store: Awaited<ReturnType<typeof openPostgres>>
  const isPooled = name.includes('PgBouncer')

  beforeAll(async () => {
    store = await openPostgres(target(url))
    await sql`CREATE TABLE IF NOT EXISTS things (id int PRIMARY KEY, n int NOT NULL)`.execute(store.database)
    await sql`INSERT INTO things VALUES (1, 0) ON CONFLICT DO NOTHING`.execute(store.database)
  })
  afterAll(() => store?.close())

  test('two concurrent migrations: one of them runs', async () => {
    const other = await openPostgres(target(url))
    const done = await Promise.all([store.migrate(schemaOwners), other.migrate(schemaOwners)])
    expect(done.filter((each) => each.length > 0)).toHaveLength(isPooled ? 0 : 1)
    await other.close()
  })

  test('migrate on a newer schema: runs only what is missing', async () => {
    const { database } = store
    await sql`INSERT INTO portico_migrations VALUES ('ledger', '999-of-the-future')`.execute(database)
    expect(await store.migrate(schemaOwners)).toEqual([])
    const example = { owner: 'example', migrations: [sqlMigration('001-baseline', ['CREATE TABLE example ()'])] }
    expect(await store.migrate([...schemaOwners, example])).toEqual(['example/001-baseline'])
    await sql`DROP TABLE example`.execute(database)
    await sql`DELETE FROM portico_migrations WHERE owner = 'example' OR name = '999-of-the-future'`.execute(database)
  })

  test('a statement that exceeds its timeout, on its own or in a transaction: 57014', async () => {
    // The client waits twice as long as the server, so a process that stands still gets the error of the server.
    const impatient = await openPostgres({ ...target(url), statementTimeoutMs: 5_000 })
    const slow = sql`SELECT pg_sleep(100)`
    const errors = await Promise.all([
      failure(slow.execute(impatient.database)),
      failure(impatient.database.transaction().execute((tx) => slow.execute(tx))),
    ])
    await impatient.close()
    for (const error of errors) expect([sqlState(error), isDatabaseUnavailable(error)]).toEqual(['57014', true])
  })

  test('a statement that waits too long for a lock: 55P03', async () => {
    const impatient = await openPostgres({ ...target(url), lockTimeoutMs: 300 })
    await impatient.database.transaction().execute(async (tx) => {
      await sql`UPDATE things SET n = n WHERE id = 1`.execute(tx)
      const error = await failure(sql`UPDATE things SET n = n + 1 WHERE id = 1`.execute(impatient.database))
      expect([sqlState(error), isDatabaseUnavailable(error)]).toEqual(['55P03', true])
    })
    await impatient.close()
  })

  test('a failed statement: has no effect and leaves its connection usable', async () => {
    const add = (n: number) => sql`UPDATE things SET n = n + ${n} WHERE id = 1`.execute(store.database)
    const read = async () =>
      (await sql<{ n: number }>`SELECT n FROM things WHERE id = 1`.execute(store.database)).rows[0]?.n ?? 0
    const before = await read()
    const work = Array.from({ length: 60 }, (_, each) =>
      each % 3 === 0 ? failure(sql`INSERT INTO things VALUES (1, ${each})`.execute(store.database)) : add(1),
    )
    await Promise.all(work)
    expect(await read()).toBe(before + 40)
    const rolledBack = store.database.transaction().execute(async (tx) => {
      await sql`UPDATE things SET n = 9999 WHERE id = 1`.execute(tx)
      throw new Error('no')
    })
    await failure(rolledBack)
    expect(await read()).toBe(before + 40)
  })

  test('the session: has no settings or locks left', async () => {
    const plain = new Client({ connectionString: url })
    await plain.connect()
    for (let time = 0; time < 4; time++) {
      const { rows } = await plain.query<{ setting: string }>('SELECT current_setting($1) AS setting', ['lock_timeout'])
      expect(rows[0]?.setting).toBe('0')
      const locks = await plain.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
      expect(locks.rows).toEqual([])
    }
    await plain.end()
  })

  test('terminated backends: the pool reconnects', async () => {
    await sql`SELECT 1`.execute(store.database)
    const plain = new Client({ connectionString: server?.url ?? '' })
    await plain.connect()
    const busy = failure(sql`SELECT pg_sleep(100) AS busy`.execute(store.database))
    const asleep =
      "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%AS busy' AND pid <> pg_backend_pid()"
    await expect.poll(async () => (await plain.query(asleep)).rowCount).toBe(1)
    await plain.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )
    expect(isDatabaseUnavailable(await busy)).toBe(true)
    const check = () => store.check().then(() => 'up', String)
    await expect.poll(check).toBe('up')
    await plain.end()
  })

  test('prepared statements: a bounded number, and none behind a pooler', async () => {
    const one = await openPostgres(target(url, 1))
    const prepared = async () =>
      (await sql<{ n: number }>`SELECT count(*)::int AS n FROM pg_prepared_statements`.execute(one.database)).rows[0]?.n
    const query = (n: number) => sql`SELECT ${n}::int + ${sql.lit(n)}`.execute(one.database)
    for (const n of [1, 1, 2, 2]) await query(n)
    expect(await prepared()).toBe(isPooled ? 0 : 2)
    for (let n = 3; n <= 320; n++) await query(n)
    expect(await prepared()).toBe(isPooled ? 0 : 300)
    await one.close()
  })

  test('list queries: never prepared, because a generic plan would be slow', async () => {
    const one = await openPostgres(target(url, 1))
    const found = one.database.selectFrom('jobs').where('kind', '=', 'none')
    const ordered = found.select('bizId').orderBy('runAt')
    expect((await readPage(found, ordered, { currentPage: 1, pageSize: 20 })).items).toEqual([])
    const prepared = sql<{ n: number }>`SELECT count(*)::int AS n FROM pg_prepared_statements`.execute(one.database)
    expect((await prepared).rows).toEqual([{ n: 0 }])
    await one.close()
  })

  test('migrate an empty database: leaves no prepared statement', async () => {
    const name = isPooled ? 'empty_pooled' : 'empty'
    const plain = new Client({ connectionString: server?.url ?? '' })
    await plain.connect()
    await plain.query(`CREATE DATABASE ${name}`)
    await plain.end()
    const empty = new URL(server?.url ?? '')
    empty.pathname = `/${name}`
    const through = isPooled ? await startPgBouncer(empty.href, 1) : undefined
    const one = await openPostgres(target(through?.url ?? empty.href, 1))
    expect(await one.migrate(schemaOwners)).not.toEqual([])
    const prepared = sql<{ n: number }>`SELECT count(*)::int AS n FROM pg_prepared_statements`.execute(one.database)
    expect((await prepared).rows).toEqual([{ n: 0 }])
    await one.close()
    await through?.stop()
  })

  describe('withoutTimeouts', () => {
    test('has no statement timeout and no lock timeout', async () => {
      const read = sql`SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock`
      const { rows } = await store.withoutTimeouts((database) => read.execute(database))
      expect(rows).toEqual([{ statement: '0', lock: '0' }])
    })

    test('aborting cuts the connection, which is not reported as broken', async () => {
      const errors: Error[] = []
      const other = await openPostgres({ ...target(url), onConnectionBroken: (error) => errors.push(error) })
      const cut = new AbortController()
      // Longer than the test may take.
      const work = failure(other.withoutTimeouts((database) => sql`SELECT pg_sleep(600)`.execute(database), cut.signal))
      await pause(200)
      cut.abort(new Error('shutting down'))
      expect(await work).toMatchObject({ message: 'shutting down' })
      await other.close()
      expect(errors).toEqual([])
    })

    test('a broken connection: rejects and is reported', async () => {
      const errors: Error[] = []
      const other = await openPostgres({ ...target(url), onConnectionBroken: (error) => errors.push(error) })
      const endsItself = sql`SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(100)`
      expect(
        isDatabaseUnavailable(await failure(other.withoutTimeouts((database) => endsItself.execute(database)))),
      ).toBe(true)
      await expect.poll(() => errors.length).toBe(1)
      await other.close()
    })

    test('does not start with an aborted signal', async () => {
      const work = failure(store.withoutTimeouts(async () => 'begun', AbortSignal.abort(new Error('too late'))))
      expect(await work).toMatchObject({ message: 'too late' })
    })
  })

  test('a statement whose columns a migration changes: fails at most once', async () => {
    const one = await openPostgres(target(url, 1))
    await sql`CREATE TABLE IF NOT EXISTS changing (id int PRIMARY KEY, n int NOT NULL)`.execute(one.database)
    await sql`INSERT INTO changing VALUES (1, 7)`.execute(one.database)
    const read = async () =>
      (await sql<{ n: unknown }>`SELECT n FROM changing WHERE id = ${1}`.execute(one.database)).rows[0]?.n
    expect([await read(), await read()]).toEqual([7, 7])
    const plain = new Client({ connectionString: server?.url ?? '' })
    await plain.connect()
    await plain.query('ALTER TABLE changing ALTER COLUMN n TYPE text')
    await read().catch((error: unknown) => expect(sqlState(error)).toBe('0A000'))
    expect([await read(), await read()]).toEqual(['7', '7'])
    await plain.query('DROP TABLE changing')
    await plain.end()
    await one.close()
  })

  test('acquireSingletonLock: one gateway at a time, regained after a broken connection', async () => {
    const states: string[] = []
    const options = { url, connectTimeoutMs: 20_000, onChange: (state: string) => states.push(state) }
    const first = await acquireSingletonLock(options)
    await expect(acquireSingletonLock(options)).rejects.toThrow('another gateway runs on this database')
    await first.check()
    const plain = new Client({ connectionString: server?.url ?? '' })
    await plain.connect()
    await plain.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
    )
    await plain.end()
    await expect.poll(() => states).toEqual(['lost', 'held'])
    await first.check()
    await first.release()
    const second = await acquireSingletonLock(options)
    await second.release()
  })

  test('acquireSingletonLock: released while being regained, it is free', async () => {
    const gone = Promise.withResolvers<void>()
    const first = await acquireSingletonLock({
      url,
      connectTimeoutMs: 20_000,
      onChange: (state) => {
        if (state === 'lost') setImmediate(() => gone.resolve(first.release()))
      },
    })
    const plain = new Client({ connectionString: server?.url ?? '' })
    await plain.connect()
    await plain.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
    )
    await plain.end()
    await gone.promise
    const second = await acquireSingletonLock({ url, connectTimeoutMs: 20_000, onChange: () => undefined })
    expect(await second.check()).toBeUndefined()
    await second.release()
  })
})
