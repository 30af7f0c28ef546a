import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { isDatabaseUnavailable, sqlState } from '../../../src/database/errors.ts'
import { openPostgres } from '../../../src/database/postgres/open-postgres.ts'
import { openPool } from '../../../src/database/postgres/pool.ts'
import { acquireSingletonLock } from '../../../src/database/postgres/singleton-lock.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { startPgBouncer } from '../../harness/pgbouncer.ts'
import { onConnections } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'
import { startRelay } from '../../harness/relay.ts'

const server = await emptyPostgres()
const pooler = server && (await startPgBouncer(server.url, 2))
afterAll(async () => {
  await pooler?.stop()
  await server?.stop()
})

function open(url: string, poolSize = 1, connectTimeoutMs = 20_000, statementTimeoutMs = 20_000) {
  return openPostgres({
    kind: 'postgres',
    url,
    poolSize,
    connectTimeoutMs,
    statementTimeoutMs,
    lockTimeoutMs: 10_000,
    onConnectionBroken: () => undefined,
  })
}
/** A client waits for a reply for twice this time. */
const silentAfterMs = 2_500
function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(() => undefined).catch((error) => error)
}
async function connectDirectly(): Promise<Client> {
  const client = new Client({ connectionString: server?.url })
  await client.connect()
  return client
}

test(
  'a silent connection: its request fails, and the next one gets a new connection',
  needsPostgres(server),
  async () => {
    const url = new URL(server?.url ?? '')
    const relay = await startRelay(Number(url.port))
    url.host = `127.0.0.1:${relay.port}`
    const store = await open(url.href, 1, 20_000, silentAfterMs)
    const query = () => sql<{ n: number }>`SELECT 1 AS n`.execute(store.database)
    await query()
    relay.silence()
    expect(isDatabaseUnavailable(await failure(query()))).toBe(true)
    expect((await query()).rows).toEqual([{ n: 1 }])
    await store.close()
    await relay.close()
  },
)

test('silent connections: one timeout replaces all of them', needsPostgres(server), async () => {
  const url = new URL(server?.url ?? '')
  const relay = await startRelay(Number(url.port))
  url.host = `127.0.0.1:${relay.port}`
  const store = await open(url.href, 4, 20_000, silentAfterMs)
  const before = await onConnections(store, 4)
  relay.silence()
  // Other load can delay the failover's time stamp of the connections.
  await pause(1)
  expect(isDatabaseUnavailable(await failure(sql`SELECT 1`.execute(store.database)))).toBe(true)
  for (const pid of await onConnections(store, 4)) expect(before).not.toContain(pid)
  await store.close()
  await relay.close()
})

test('connections: replaced after their maximum age, at different times', needsPostgres(server), async () => {
  // Sockets and timeouts run in real time.
  vi.useFakeTimers({ toFake: ['performance'] })
  const store = await open(server?.url ?? '', 4)
  const pids = async () => (await onConnections(store, 4)).toSorted()
  try {
    const first = await pids()
    expect(await pids()).toEqual(first)
    vi.advanceTimersByTime(90_000)
    await pids()
    const later = await pids()
    const kept = later.filter((pid) => first.includes(pid))
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThan(4)
    vi.advanceTimersByTime(60_000)
    await pids()
    expect((await pids()).filter((pid) => first.includes(pid))).toEqual([])
  } finally {
    vi.useRealTimers()
    await store.close()
  }
})

test('concurrent queries: share poolSize connections and all succeed', needsPostgres(server), async () => {
  const store = await open(server?.url ?? '', 3)
  const query = () => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(store.database)
  const [held, results] = await Promise.all([onConnections(store, 3), Promise.all(Array.from({ length: 12 }, query))])
  expect(new Set(held).size).toBe(3)
  for (const { rows } of results) expect(held).toContain(rows[0]?.pid)
  await store.close()
})

test(
  'an exhausted pool: the caller counts as waiting, and its error names database.poolSize',
  needsPostgres(server),
  async () => {
    const store = await open(server?.url ?? '', 1, 5_000)
    const [acquired, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = store.database.connection().execute(() => {
      acquired.resolve()
      return release.promise
    })
    await acquired.promise
    const waiting = failure(sql`SELECT 1`.execute(store.database))
    await pause(0)
    expect(store.waiting()).toBe(1)
    const error = await waiting
    expect(isDatabaseUnavailable(error)).toBe(true)
    expect(error).toMatchObject({ message: 'no connection to PostgreSQL became free in time (database.poolSize)' })
    release.resolve()
    await holding
    // A caller that gets an idle connection does not wait.
    const served = sql`SELECT 1`.execute(store.database)
    expect(store.waiting()).toBe(0)
    await served
    await store.close()
  },
)

test('a server that requires unknown credentials: the connection is closed', async () => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    // Requests an unknown SASL mechanism. A real server would keep the connection open for a minute.
    socket.once('data', () => socket.write(Buffer.from('R\0\0\0\x0f\0\0\0\x0aOTHER\0\0', 'latin1')))
    socket.on('error', () => undefined).on('close', () => closed.resolve())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const connectionString = `postgres://nobody@127.0.0.1:${port}/none`
  const { database } = openPool({ connectionString, max: 1 }, null, () => undefined, { limit: null })
  expect(isDatabaseUnavailable(await failure(sql`SELECT 1`.execute(database)))).toBe(true)
  const outcome = Promise.race([closed.promise.then(() => 'closed'), pause(20_000, 'left open', { ref: false })])
  expect(await outcome).toBe('closed')
  await database.destroy()
  server.close()
})

describe.each([
  ['PostgreSQL', server],
  ['PgBouncer in transaction mode', pooler],
] as const)('%s', (_, target) => {
  if (!target) return void test('a server', needsPostgres(target), () => undefined)

  test.each(['COMMIT', 'ROLLBACK'])('a statement after %s on the same connection has a timeout', async (end) => {
    // Waiting for the timeout would depend on the machine.
    const store = await open(target.url)
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
    // A process that stands still gets the error of the server.
    const store = await open(target.url, 1, 20_000, 5_000)
    expect(sqlState(await failure(sql`SELECT pg_sleep(100)`.execute(store.database)))).toBe('57014')
    await store.close()
  })

  test('a single statement that fails at its commit has failed', async () => {
    const store = await open(target.url)
    await sql`CREATE TABLE IF NOT EXISTS deferred_rows (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`.execute(
      store.database,
    )
    await sql`DELETE FROM deferred_rows`.execute(store.database)
    await sql`INSERT INTO deferred_rows VALUES (1)`.execute(store.database)
    expect(sqlState(await failure(sql`INSERT INTO deferred_rows VALUES (1)`.execute(store.database)))).toBe('23505')
    expect((await sql`SELECT n FROM deferred_rows`.execute(store.database)).rows).toEqual([{ n: 1 }])
    await store.close()
  })
})

describe('the singleton lock', needsPostgres(server), () => {
  const hold = (states: string[] = []) =>
    acquireSingletonLock({
      url: server?.url ?? '',
      connectTimeoutMs: 20_000,
      onChange: (state) => void states.push(state),
    })

  test('waits for a predecessor that is shutting down', async () => {
    const first = await hold()
    // It waits for two seconds. Sockets and timeouts run in real time.
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const second = hold()
      await pause(600)
      await first.release()
      const next = await second
      expect(await next.check()).toBeUndefined()
      await next.release()
    } finally {
      vi.useRealTimers()
    }
  })

  test('check fails once the lock is lost; reports one takeover and the return', async () => {
    const states: string[] = []
    const first = await hold(states)
    const holder = "SELECT objid, classid, pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    const other = await connectDirectly()
    const admin = await connectDirectly()
    const { rows } = await admin.query<{ objid: string; classid: string; pid: number }>(holder)
    const key = (BigInt(rows[0]?.classid ?? 0) << 32n) | BigInt(rows[0]?.objid ?? 0)
    const waiting = other.query(`SELECT pg_advisory_lock(${key})`)
    const queued = async () => (await admin.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount
    await expect.poll(queued).toBe(1)
    await admin.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
    await waiting
    await expect.poll(() => states).toEqual(['lost', 'taken'])
    await expect(first.check()).rejects.toThrow('another gateway may be running')
    await pause(800)
    expect(states).toEqual(['lost', 'taken'])
    await other.end()
    await expect.poll(() => states).toEqual(['lost', 'taken', 'held'])
    await first.check()
    await first.release()
    await admin.end()
  })

  test('a silent connection loses the lock, and the server releases it after maxIdleMs', async () => {
    const url = new URL(server?.url ?? '')
    const relay = await startRelay(Number(url.port))
    url.port = String(relay.port)
    const states: string[] = []
    const onChange = (state: string) => void states.push(state)
    const first = await acquireSingletonLock({ url: url.href, connectTimeoutMs: 20_000, maxIdleMs: 1_200, onChange })
    relay.silence()
    // The server's own timeout then releases the lock.
    await expect.poll(() => states.at(0)).toBe('lost')
    await expect.poll(() => states.at(-1)).toBe('held')
    // On a busy machine, it can be lost again.
    await expect.poll(() => first.check().then(() => 'held', String)).toBe('held')
    await first.release()
    await relay.close()
  })
})

test('connections: those in use, of the size of the pool', needsPostgres(server), async () => {
  const store = await open(server?.url ?? '', 3)
  expect(store.connections()).toEqual({ inUse: 0, size: 3 })
  const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = store.database.connection().execute(async (connection) => {
    await sql`SELECT 1`.execute(connection)
    started.resolve()
    await released.promise
  })
  await started.promise
  expect(store.connections()).toEqual({ inUse: 1, size: 3 })
  released.resolve()
  await held
  expect(store.connections()).toEqual({ inUse: 0, size: 3 })
  await store.close()
})
