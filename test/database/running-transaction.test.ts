import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { EmbeddedStore, embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { isDatabaseUnavailable } from '../../src/database/errors.ts'
import {
  batch,
  createSnapshotReader,
  type Database,
  detached,
  inTransaction,
  rawQuery,
  type Tables,
} from '../../src/database/index.ts'
import { openPostgres } from '../../src/database/postgres/open-postgres.ts'
import { needsPostgres } from '../harness/needs.ts'
import { emptyPglite } from '../harness/prepared-pglite.ts'
import { emptyPostgres } from '../harness/prepared-postgres.ts'
import { testClock } from '../identity/clock.ts'

const server = await emptyPostgres()
afterAll(() => server?.stop())

describe.each([
  ['the embedded store', null],
  ['PostgreSQL', server],
] as const)('%s', (_, target) => {
  if (target === undefined) return void test('a server', needsPostgres(target), () => undefined)
  let database: Database
  let named: (port: string) => Database
  let close: () => Promise<void>
  beforeAll(async () => {
    if (target === null) {
      const empty = await emptyPglite()
      const store = new EmbeddedStore(empty.pglite)
      named = (port) => new Kysely<Tables>({ dialect: store.dialect(port) })
      database = named('database')
      close = empty.close
      return
    }
    const store = await openPostgres({
      kind: 'postgres',
      url: target.url,
      poolSize: 2,
      connectTimeoutMs: 20_000,
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 4_000,
      onConnectionBroken: () => undefined,
    })
    named = store.named
    database = store.database
    close = store.close
  })
  afterAll(() => close())

  const one = (store: Database) => sql`SELECT 1 AS one`.execute(store).then(({ rows }) => rows)
  const inside = <T>(work: (tx: Database) => Promise<T>) =>
    inTransaction(database, work, { owner: 'cards.issue', port: 'once' })
  const refused = (port: string) => `cards.issue uses \`${port}\` inside \`once\`: use \`tx\``

  test('another connection inside a transaction throws, and names the operation and the port', async () => {
    await expect(inside(() => one(database))).rejects.toThrow(refused('database'))
    await expect(inside(() => one(named('ledger')))).rejects.toThrow(refused('ledger'))
    await expect(inside(() => inTransaction(database, one))).rejects.toThrow(refused('database'))
    await expect(inside(() => batch(database, [rawQuery(sql`SELECT 1`)]))).rejects.toThrow(refused('database'))
    const inSnapshot = createSnapshotReader(
      { database, named, kind: target === null ? 'embedded' : 'postgres' },
      testClock(),
    )
    await expect(inside(() => inSnapshot(({ store }) => one(store)))).rejects.toThrow(refused('database'))
    expect(await inside(one)).toEqual([{ one: 1 }])
  })

  test('a port that nobody awaits, or whose error is caught, fails the transaction', async () => {
    const forgotten = (tx: Database) => {
      void one(database).catch(() => undefined)
      return one(tx)
    }
    await expect(inside(forgotten)).rejects.toThrow(refused('database'))
    await expect(inside((tx) => one(database).catch(() => one(tx)))).rejects.toThrow(refused('database'))
    expect(await inside(one)).toEqual([{ one: 1 }])
  })

  test('a transaction that never settles fails after 10 s, and others get its connection', async () => {
    await sql`CREATE TABLE IF NOT EXISTS kept (id int)`.execute(database)
    const insert = (store: Database) => sql`INSERT INTO kept VALUES (1)`.execute(store)
    const ids = async () => (await sql`SELECT id FROM kept`.execute(database)).rows
    const open: Database[] = []
    const count = target === null ? 1 : 2
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const hang = (tx: Database) => insert(tx).then(() => new Promise<never>(() => open.push(tx)))
      const failures = Array.from({ length: count }, () => inside(hang).catch((error: unknown) => error))
      while (open.length < count) await new Promise(setImmediate)
      await vi.advanceTimersByTimeAsync(10_000)
      const [error] = await Promise.all(failures)
      expect(error).toEqual(new Error('cards.issue kept its transaction open for 10 s'))
      expect(isDatabaseUnavailable(error)).toBe(false)
    } finally {
      vi.useRealTimers()
    }
    for (const tx of open) await expect(insert(tx)).rejects.toThrow()
    expect(await ids()).toEqual([])
    expect(await Promise.all([one(database), one(database), one(database)])).toHaveLength(3)
  })

  test('a raw transaction and connection that are never given back lose the connection after 10 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      for (let turn = 0; turn < 3; turn++) {
        const raw = await database.startTransaction().execute()
        await one(raw)
        await vi.advanceTimersByTimeAsync(10_000)
        const late = one(raw)
        await expect(late).rejects.toThrow('the connection was given back, or held for more than 10 s')
        await expect(raw.commit().execute()).rejects.toThrow('held for more than 10 s')
        const kept = Promise.withResolvers<Database>()
        void database.connection().execute((store) => new Promise(() => kept.resolve(store)))
        const store = await kept.promise
        await vi.advanceTimersByTimeAsync(10_000)
        await expect(one(store)).rejects.toThrow('held for more than 10 s')
      }
    } finally {
      vi.useRealTimers()
    }
    expect(await one(database)).toEqual([{ one: 1 }])
  })

  test('a connection that was given back refuses statements', async () => {
    let stale: Database | undefined
    await database.connection().execute(async (store) => {
      stale = store
    })
    await expect(one(stale ?? database)).rejects.toThrow('the connection was given back')
  })

  test('COMMIT, ROLLBACK and BEGIN are refused, savepoints are not', async () => {
    await sql`CREATE TABLE IF NOT EXISTS controlled (id int)`.execute(database)
    const insert = (store: Database, id: number) => sql`INSERT INTO controlled VALUES (${id})`.execute(store)
    for (const statement of ['COMMIT', '/* x */ rollback', 'begin', 'SELECT 1; COMMIT']) {
      const work = inside(async (tx) => {
        await insert(tx, 1)
        await sql.raw(statement).execute(tx)
      })
      await expect(work).rejects.toThrow('is not a statement of a command: return or throw')
      await expect(sql.raw(statement).execute(database)).rejects.toThrow('is not a statement of a command')
    }
    await inside(async (tx) => {
      await sql`SAVEPOINT a`.execute(tx)
      await insert(tx, 2)
      await sql`ROLLBACK TO a`.execute(tx)
      await insert(tx, 3)
    })
    const raw = await database.startTransaction().execute()
    const savepoint = await raw.savepoint('b').execute()
    await insert(savepoint, 4)
    await savepoint.rollbackToSavepoint('b').execute()
    await raw.commit().execute()
    expect((await sql`SELECT id FROM controlled`.execute(database)).rows).toEqual([{ id: 3 }])
  })

  test('the mark ends with the work, also for promises that the work has started', async () => {
    const turn = Promise.withResolvers<void>()
    let later: Promise<unknown> | undefined
    await inside(async () => {
      later = turn.promise.then(() => one(database))
    })
    turn.resolve()
    expect(await later).toEqual([{ one: 1 }])
    expect(await one(database)).toEqual([{ one: 1 }])
  })

  test('a transaction that is running does not mark concurrent work, nor detached work', async () => {
    const isOpen = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    let background: Promise<unknown> | undefined
    const running = inside(async () => {
      background = detached(() => one(database))
      isOpen.resolve()
      await end.promise
    })
    await isOpen.promise
    const beside = one(database)
    end.resolve()
    await running
    expect(await Promise.all([background, beside])).toEqual([[{ one: 1 }], [{ one: 1 }]])
  })
})

test('embedded store: callers get an error if a transaction does not end, and later ones are served', async () => {
  const { pglite, close } = await emptyPglite()
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  await sql`SELECT 1`.execute(database)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    const end = Promise.withResolvers<void>()
    const isOpen = Promise.withResolvers<void>()
    const running = database.transaction().execute(async () => {
      isOpen.resolve()
      await end.promise
    })
    await isOpen.promise
    const waiter = sql`SELECT 1`.execute(database).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(5_000)
    const error = await waiter
    expect(error).toMatchObject({
      message: 'a transaction holds the connection of the embedded store for more than 5000 ms',
    })
    expect(isDatabaseUnavailable(error)).toBe(true)
    end.resolve()
    await running
    vi.useRealTimers()
    await pause(0)
    expect((await sql`SELECT 1 AS one`.execute(database)).rows).toEqual([{ one: 1 }])
  } finally {
    vi.useRealTimers()
    await close()
  }
})

test('embedded store: a long queue is served, because no caller holds the connection for long', async () => {
  const { pglite, close } = await emptyPglite()
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  await sql`SELECT 1`.execute(database)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    const holders = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const served = holders.map(({ promise }) => database.transaction().execute(() => promise))
    for (const { resolve } of holders) {
      await vi.advanceTimersByTimeAsync(4_000)
      resolve()
      // Statements of PGlite end in a later turn of the event loop.
      await vi.waitFor(() => undefined)
    }
    expect(await Promise.all(served)).toHaveLength(4)
  } finally {
    vi.useRealTimers()
    await close()
  }
})
