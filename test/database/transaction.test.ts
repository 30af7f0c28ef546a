import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { sqlState } from '../../src/database/errors.ts'
import {
  batch,
  commitWith,
  type Database,
  inTransaction,
  rawQuery,
  run,
  type Tables,
} from '../../src/database/index.ts'
import { openPostgres } from '../../src/database/postgres/open-postgres.ts'
import { needsPostgres } from '../harness/needs.ts'
import { startPgBouncer } from '../harness/pgbouncer.ts'
import { emptyPglite } from '../harness/prepared-pglite.ts'
import { emptyPostgres } from '../harness/prepared-postgres.ts'
import { type RoundTripCounter, startRoundTripCounter } from '../harness/round-trips.ts'

const server = await emptyPostgres()
const pooler = server && (await startPgBouncer(server.url, 2))
afterAll(async () => {
  await pooler?.stop()
  await server?.stop()
})

function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(() => undefined).catch((error) => error)
}

describe.each([
  ['the embedded store', null],
  ['PostgreSQL', server],
  ['PgBouncer in transaction mode', pooler],
] as const)('%s', (_, target) => {
  if (target === undefined) return void test('a server', needsPostgres(target), () => undefined)
  let database: Database
  let close: () => Promise<void>
  let counter: RoundTripCounter | undefined

  beforeAll(async () => {
    if (target === null) {
      const { pglite, close: closePglite } = await emptyPglite()
      database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
      close = closePglite
    } else {
      const url = new URL(target.url)
      const counting = await startRoundTripCounter(Number(url.port))
      counter = counting
      url.host = `127.0.0.1:${counting.port}`
      const store = await openPostgres({
        kind: 'postgres',
        url: url.href,
        poolSize: 1,
        connectTimeoutMs: 20_000,
        statementTimeoutMs: 20_000,
        lockTimeoutMs: 20_000,
        onConnectionBroken: () => undefined,
      })
      database = store.database
      close = async () => {
        await store.close()
        await counting.close()
      }
    }
    await sql`DROP TABLE IF EXISTS steps`.execute(database)
    await sql`CREATE TABLE steps (id int PRIMARY KEY, n int NOT NULL)`.execute(database)
  })
  beforeEach(async () => {
    await sql`DELETE FROM steps`.execute(database)
  })
  afterAll(() => close?.())

  const inserted = (id: number) =>
    rawQuery(sql<{ id: number }>`INSERT INTO steps VALUES (${id}, (SELECT count(*) FROM steps)) RETURNING id`)
  const insert = (store: Database, id: number) => run(store, inserted(id))
  const stored = async () => (await sql<{ id: number }>`SELECT id FROM steps ORDER BY n, id`.execute(database)).rows
  const storedIds = async () => (await stored()).map(({ id }) => id)
  /** The smallest of several counts, because a busy machine can split a round trip. Undefined for the embedded store. */
  const roundTripsOf = async (work: () => Promise<unknown>): Promise<number | undefined> => {
    if (!counter) return undefined
    const counts: number[] = []
    for (let attempt = 0; attempt < 8; attempt++) {
      await sql`DELETE FROM steps`.execute(database)
      const before = counter.roundTrips
      await work()
      counts.push(counter.roundTrips - before)
    }
    return Math.min(...counts)
  }
  const expectRoundTrips = async (count: number, work: () => Promise<unknown>) =>
    expect(await roundTripsOf(work)).toBe(counter ? count : undefined)

  test('batch: a statement that is not passed on does not start', async () => {
    inserted(2)
    await insert(database, 3)
    expect(await storedIds()).toEqual([3])
  })

  test('batch: sends statements in order; on a database, a failure does not affect the others', async () => {
    const many = () => batch(database, [inserted(3), inserted(1), inserted(2)])
    await expectRoundTrips(1, many)
    await sql`DELETE FROM steps`.execute(database)
    expect(await many()).toEqual([[{ id: 3 }], [{ id: 1 }], [{ id: 2 }]])
    const failing = batch(database, [inserted(4), inserted(3), rawQuery(sql`SELECT 1 / 0`), inserted(5)])
    expect(sqlState(await failure(failing))).toBe('23505')
    expect(await storedIds()).toEqual([3, 1, 2, 4, 5])
  })

  test('inTransaction: BEGIN leaves with the first statements, and the last ones leave with COMMIT', async () => {
    const work = () =>
      inTransaction(database, async (tx) => {
        const [first] = await batch(tx, [inserted(9), inserted(8)])
        return commitWith([inserted(7), inserted(6)], ([last]) => [...first, ...last])
      })
    await expectRoundTrips(2, work)
    await sql`DELETE FROM steps`.execute(database)
    expect(await work()).toEqual([{ id: 9 }, { id: 7 }])
    expect(await storedIds()).toEqual([9, 8, 7, 6])
    const oneBatch = () => inTransaction(database, async () => commitWith([inserted(7), inserted(6)], () => undefined))
    await expectRoundTrips(1, oneBatch)
    await expectRoundTrips(0, () => inTransaction(database, async () => undefined))
  })

  test('inTransaction: a failed statement rolls everything back and is the reported error', async () => {
    const work = inTransaction(database, async (tx) => {
      await insert(tx, 1)
      return commitWith([inserted(2), inserted(1), inserted(3)], () => undefined)
    })
    expect(sqlState(await failure(work))).toBe('23505')
    const first = inTransaction(database, (tx) => batch(tx, [inserted(1), inserted(1), inserted(3)]))
    expect(sqlState(await failure(first))).toBe('23505')
    expect(await storedIds()).toEqual([])
  })

  test('inTransaction: a statement that cannot be sent rolls everything back', async () => {
    const unsendable = {
      toPostgres: () => {
        throw new Error('unsendable')
      },
      toJSON: () => {
        throw new Error('unsendable')
      },
    }
    const second = rawQuery(sql`INSERT INTO steps VALUES (2, ${unsendable})`)
    const last = inTransaction(database, async () => commitWith([inserted(1), second, inserted(3)], () => undefined))
    expect(await failure(last)).toEqual(new Error('unsendable'))
    const middle = inTransaction(database, (tx) => batch(tx, [inserted(1), second, inserted(3)]))
    expect(await failure(middle)).toEqual(new Error('unsendable'))
    expect(await storedIds()).toEqual([])
    await insert(database, 4)
    expect(await storedIds()).toEqual([4])
  })

  test('inTransaction: an error of the work rolls back what was sent', async () => {
    const refusal = new Error('refused')
    const work = inTransaction(database, async (tx) => {
      await insert(tx, 1)
      throw refusal
    })
    expect(await failure(work)).toBe(refusal)
    expect(await storedIds()).toEqual([])
  })

  test('inTransaction: a statement that starts after COMMIT fails', async () => {
    let late: Promise<unknown> = Promise.resolve()
    await inTransaction(database, async (tx) => {
      await insert(tx, 1)
      // Nobody awaits it, and it starts during COMMIT.
      late = failure(new Promise(setImmediate).then(() => insert(tx, 2)))
    })
    expect(await late).toBeInstanceOf(Error)
    expect(await storedIds()).toEqual([1])
  })

  test('inTransaction: retries after a deadlock in a last statement', async () => {
    let attempts = 0
    await inTransaction(database, async () => {
      attempts += 1
      const fails = rawQuery(sql`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$`)
      return commitWith([inserted(attempts), attempts === 1 ? fails : inserted(10)], () => undefined)
    })
    expect([attempts, await storedIds()]).toEqual([2, [2, 10]])
  })
})
