import { setTimeout as pause } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { EmbeddedStore, embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { isDatabaseUnavailable } from '../../src/database/errors.ts'
import {
  createSnapshotReader,
  type Database,
  detached,
  inOneRoundTrip,
  inTransaction,
  type Tables,
} from '../../src/database/index.ts'
import { openPostgres } from '../../src/database/postgres/open-postgres.ts'
import { valueParsers } from '../../src/database/tables.ts'
import { needsPostgres } from '../harness/needs.ts'
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
      const pglite = await PGlite.create({ parsers: valueParsers })
      const store = new EmbeddedStore(pglite)
      named = (port) => new Kysely<Tables>({ dialect: store.dialect(port) })
      database = named('database')
      close = () => pglite.close()
      return
    }
    const store = await openPostgres({
      kind: 'postgres',
      url: target.url,
      poolSize: 2,
      connectTimeoutMs: 20_000,
      statementTimeoutMs: 20_000,
      lockTimeoutMs: 20_000,
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
    await expect(inside(() => inOneRoundTrip(database, one))).rejects.toThrow(refused('database'))
    const inSnapshot = createSnapshotReader({ database, kind: target === null ? 'embedded' : 'postgres' }, testClock())
    await expect(inside(() => inSnapshot(({ store }) => one(store)))).rejects.toThrow(refused('database'))
    expect(await inside(one)).toEqual([{ one: 1 }])
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
  const pglite = await PGlite.create()
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
    await vi.advanceTimersByTimeAsync(10_000)
    const error = await waiter
    expect(error).toMatchObject({
      message: 'a transaction holds the connection of the embedded store for more than 10000 ms',
    })
    expect(isDatabaseUnavailable(error)).toBe(true)
    end.resolve()
    await running
    vi.useRealTimers()
    await pause(0)
    expect((await sql`SELECT 1 AS one`.execute(database)).rows).toEqual([{ one: 1 }])
  } finally {
    vi.useRealTimers()
    await pglite.close()
  }
})

test('embedded store: a long queue is served, because no caller holds the connection for long', async () => {
  const pglite = await PGlite.create()
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  await sql`SELECT 1`.execute(database)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    const holders = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const served = holders.map(({ promise }) => database.transaction().execute(() => promise))
    for (const { resolve } of holders) {
      await vi.advanceTimersByTimeAsync(6_000)
      resolve()
      // Statements of PGlite end in a later turn of the event loop.
      await vi.waitFor(() => undefined)
    }
    expect(await Promise.all(served)).toHaveLength(4)
  } finally {
    vi.useRealTimers()
    await pglite.close()
  }
})
