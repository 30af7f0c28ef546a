import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { isDatabaseUnavailable, sqlState } from '../../../src/database/errors.ts'
import { openPostgres } from '../../../src/database/postgres/open-postgres.ts'
import { openPool } from '../../../src/database/postgres/pool.ts'
import { acquireSingletonLock } from '../../../src/database/postgres/singleton-lock.ts'
import { startPgBouncer } from '../../harness/pgbouncer.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { startRelay } from '../../harness/relay.ts'

const server = await startPostgres()
const pooler = server && (await startPgBouncer(server.url, 2))
afterAll(async () => {
  await pooler?.stop()
  await server?.stop()
})

const open = (url: string, poolSize = 1, connectTimeoutMs = 2_000, statementTimeoutMs = 400) =>
  openPostgres({
    kind: 'postgres',
    url,
    poolSize,
    connectTimeoutMs,
    statementTimeoutMs,
    lockTimeoutMs: 200,
    onConnectionBroken: () => undefined,
  })
const failure = (asked: Promise<unknown>): Promise<unknown> => asked.then(() => undefined).catch((error) => error)
const plainly = async (): Promise<Client> => {
  const client = new Client({ connectionString: server?.url })
  await client.connect()
  return client
}

test.skipIf(!server)(
  'a connection that has fallen silent is used no more: whoever comes next has another',
  async () => {
    const url = new URL(server?.url ?? '')
    const relay = await startRelay(Number(url.port))
    url.host = `127.0.0.1:${relay.port}`
    const store = await open(url.href)
    const ask = () => sql<{ n: number }>`SELECT 1 AS n`.execute(store.database)
    await ask()
    relay.silence()
    expect(isDatabaseUnavailable(await failure(ask()))).toBe(true)
    expect((await ask()).rows).toEqual([{ n: 1 }])
    await store.close()
    await relay.close()
  },
)

test.skipIf(!server)(
  'has as many connections as poolSize says, however many ask at once; all are answered',
  async () => {
    const store = await open(server?.url ?? '', 3)
    const ask = () => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid, pg_sleep(0.02)`.execute(store.database)
    const answers = await Promise.all(Array.from({ length: 12 }, ask))
    expect(new Set(answers.map(({ rows }) => rows[0]?.pid)).size).toBe(3)
    await store.close()
  },
)

test.skipIf(!server)(
  'whoever finds all connections in use is counted while waiting, and told that it was these, not the server',
  async () => {
    const store = await open(server?.url ?? '', 1, 1_000)
    const [held, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = store.database.connection().execute(() => {
      held.resolve()
      return letGo.promise
    })
    await held.promise
    const asking = failure(sql`SELECT 1`.execute(store.database))
    await pause(0)
    expect(store.waiting()).toBe(1)
    const error = await asking
    expect(isDatabaseUnavailable(error)).toBe(true)
    expect(error).toMatchObject({ message: 'no connection to PostgreSQL became free in time (database.poolSize)' })
    letGo.resolve()
    await holding
    // Who is about to get one that nobody uses does not wait.
    const served = sql`SELECT 1`.execute(store.database)
    expect(store.waiting()).toBe(0)
    await served
    await store.close()
  },
)

test('a connection whose server asks for what we do not have is closed at once', async () => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    // AuthenticationSASL, by a way that nobody knows: it waits for an answer a minute long, and counts this among its connections.
    socket.once('data', () => socket.write(Buffer.from('R\0\0\0\x0f\0\0\0\x0aOTHER\0\0', 'latin1')))
    socket.on('error', () => undefined).on('close', () => closed.resolve())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const connectionString = `postgres://nobody@127.0.0.1:${port}/none`
  const { database } = openPool({ connectionString, max: 1 }, null, () => undefined)
  expect(isDatabaseUnavailable(await failure(sql`SELECT 1`.execute(database)))).toBe(true)
  const outcome = Promise.race([closed.promise.then(() => 'closed'), pause(20_000, 'left open', { ref: false })])
  expect(await outcome).toBe('closed')
  await database.destroy()
  server.close()
})

describe.each([
  ['PostgreSQL', server],
  ['PgBouncer in transaction mode', pooler],
] as const)('%s', (_, way) => {
  if (!way) return void test.skip('none could be started')

  test.each(['COMMIT', 'ROLLBACK'])('a statement after %s on the same connection has a timeout', async (end) => {
    // The server's own setting is read instead of waited for: a slow machine answers the same.
    const store = await open(way.url, 1, 20_000, 20_000)
    await store.database.connection().execute(async (one) => {
      const ended = await failure(
        one.transaction().execute(async (tx) => {
          await sql`SELECT 1`.execute(tx)
          if (end === 'ROLLBACK') throw new Error('roll back')
        }),
      )
      expect(ended).toEqual(end === 'ROLLBACK' ? new Error('roll back') : undefined)
      const { rows } = await sql`SELECT current_setting('statement_timeout') AS timeout`.execute(one)
      expect(rows).toEqual([{ timeout: '20s' }])
    })
    await store.close()
  })

  test('a statement that exceeds its timeout fails with 57014', async () => {
    const store = await open(way.url)
    expect(sqlState(await failure(sql`SELECT pg_sleep(60)`.execute(store.database)))).toBe('57014')
    await store.close()
  })

  test('a statement alone that is refused only as it is committed has failed', async () => {
    const store = await open(way.url)
    await sql`CREATE TABLE IF NOT EXISTS late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`.execute(store.database)
    await sql`DELETE FROM late`.execute(store.database)
    await sql`INSERT INTO late VALUES (1)`.execute(store.database)
    expect(sqlState(await failure(sql`INSERT INTO late VALUES (1)`.execute(store.database)))).toBe('23505')
    expect((await sql`SELECT n FROM late`.execute(store.database)).rows).toEqual([{ n: 1 }])
    await store.close()
  })
})

describe.skipIf(!server)('who is alone on a database', () => {
  const hold = (told: string[] = []) =>
    acquireSingletonLock({
      url: server?.url ?? '',
      connectTimeoutMs: 2_000,
      onChange: (state) => void told.push(state),
    })

  test('waits a while for a predecessor that is going down', async () => {
    const first = await hold()
    const second = hold()
    await pause(600)
    await first.release()
    const next = await second
    expect(await next.check()).toBeUndefined()
    await next.release()
  })

  test('is not certain of it once the right is lost, is told once that another has it, and has it again afterwards', async () => {
    const told: string[] = []
    const first = await hold(told)
    const holder = "SELECT objid, classid, pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    const other = await plainly()
    const admin = await plainly()
    const { rows } = await admin.query<{ objid: string; classid: string; pid: number }>(holder)
    const key = (BigInt(rows[0]?.classid ?? 0) << 32n) | BigInt(rows[0]?.objid ?? 0)
    const waiting = other.query(`SELECT pg_advisory_lock(${key})`)
    const queued = async () => (await admin.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount
    await expect.poll(queued).toBe(1)
    await admin.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
    await waiting
    await expect.poll(() => told).toEqual(['lost', 'taken'])
    await expect(first.check()).rejects.toThrow('another gateway may be running')
    await pause(800)
    expect(told).toEqual(['lost', 'taken'])
    await other.end()
    await expect.poll(() => told).toEqual(['lost', 'taken', 'held'])
    await first.check()
    await first.release()
    await admin.end()
  })

  test('whose connection falls silent is not certain of it, and the server lets others have it soon after', async () => {
    const url = new URL(server?.url ?? '')
    const relay = await startRelay(Number(url.port))
    url.port = String(relay.port)
    const told: string[] = []
    const onChange = (state: string) => void told.push(state)
    const first = await acquireSingletonLock({ url: url.href, connectTimeoutMs: 2_000, maxIdleMs: 1_200, onChange })
    relay.silence()
    // What was silenced stays open at the server's end: its locks are free by the server's own time alone.
    await expect.poll(() => told.at(0)).toBe('lost')
    await expect.poll(() => told.at(-1)).toBe('held')
    expect(await first.check()).toBeUndefined()
    await first.release()
    await relay.close()
  })
})
