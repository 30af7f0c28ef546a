import { AbortedTransactionError, Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { embeddedDialect } from '../../../src/database/embedded/dialect.ts'
import { isDatabaseUnavailable, sqlState } from '../../../src/database/errors.ts'
import { emptyPglite, type TestPglite } from '../../harness/prepared-pglite.ts'

let store: TestPglite
let database: Kysely<{ things: { id: number; n: number } }>
beforeAll(async () => {
  store = await emptyPglite()
  database = new Kysely({ dialect: embeddedDialect(store.pglite) })
  await sql`CREATE TABLE things (id int PRIMARY KEY, n int NOT NULL)`.execute(database)
})
beforeEach(async () => {
  await database.deleteFrom('things').execute()
  await database.insertInto('things').values({ id: 1, n: 0 }).execute()
})
afterAll(() => store.close())

function all() {
  return database.selectFrom('things').selectAll().orderBy('id').execute()
}
function stateOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => 'done',
    (error: unknown) => sqlState(error),
  )
}

describe('a statement', () => {
  test('returns its rows and the number of changed rows', async () => {
    expect(await all()).toEqual([{ id: 1, n: 0 }])
    const changed = await database.updateTable('things').set({ n: 5 }).where('id', 'in', [1, 2]).executeTakeFirst()
    expect(changed.numUpdatedRows).toBe(1n)
    expect((await sql`SELECT 1 WHERE false`.execute(database)).rows).toEqual([])
  })

  test('that fails does not affect later statements, prepared or not', async () => {
    const twice = () => stateOf(database.insertInto('things').values({ id: 1, n: 1 }).execute())
    for (let round = 0; round < 3; round++) {
      expect(await twice()).toBe('23505')
      expect(await stateOf(sql`SELECT nonsense`.execute(database))).toBe('42703')
      expect(await stateOf(sql`SELEC 1`.execute(database))).toBe('42601')
      expect(await stateOf(sql`SELECT 1 / ${round - round}::int`.execute(database))).toBe('22012')
      expect(await all()).toEqual([{ id: 1, n: 0 }])
    }
    await database.deleteFrom('things').execute()
    expect(await twice()).toBe('done')
  })

  test('whose result cannot be parsed stays usable', async () => {
    const count = (n: bigint) => sql<{ n: number }>`SELECT ${n}::int8 AS n`.execute(database)
    for (let round = 0; round < 3; round++) await expect(count(2n ** 60n)).rejects.toThrow(RangeError)
    expect((await count(7n)).rows).toEqual([{ n: 7 }])
  })

  test('that runs long yields to the event loop afterwards', async () => {
    let turns = 0
    let next = setImmediate(function again() {
      turns += 1
      next = setImmediate(again)
    })
    for (let n = 0; n < 5; n++) await sql`SELECT count(*) FROM generate_series(1, 1000000)`.execute(database)
    clearImmediate(next)
    expect(turns).toBeGreaterThanOrEqual(4)
  })

  test('is prepared in the store, up to the maximum number of statements', async () => {
    const countPrepared = async () =>
      (await sql<{ total: number }>`SELECT count(*) AS total FROM pg_prepared_statements`.execute(database)).rows[0]
        ?.total
    for (let round = 0; round < 2; round++) for (let n = 0; n < 300; n++) await sql.raw(`SELECT ${n}`).execute(database)
    expect(await countPrepared()).toBeGreaterThan(200)
    expect(await countPrepared()).toBeLessThanOrEqual(252)
    for (let n = 0; n < 300; n++)
      expect((await sql.raw<{ n: number }>(`SELECT ${n} AS n`).execute(database)).rows).toEqual([{ n }])
  })

  test('that is prepared follows schema changes', async () => {
    const read = () => sql.raw<object>('SELECT n + 1 AS more FROM things').execute(database)
    await read()
    await sql`ALTER TABLE things ADD COLUMN added text DEFAULT 'x'`.execute(database)
    expect((await read()).rows).toEqual([{ more: 1 }])
    await sql`ALTER TABLE things DROP COLUMN added`.execute(database)
    expect((await read()).rows).toEqual([{ more: 1 }])
  })
})

describe('a parameter', () => {
  const echo = async (value: unknown, type: string) =>
    (await sql<{ value: unknown }>`SELECT ${value}::${sql.raw(type)} AS value`.execute(database)).rows[0]?.value

  test.each([
    [null, 'text', null],
    ['', 'text', ''],
    [`a'b"c\\d{},NULL ünï 🙂`, 'text', `a'b"c\\d{},NULL ünï 🙂`],
    [true, 'boolean', true],
    [-7, 'int', -7],
    [2n ** 62n, 'numeric', 2n ** 62n],
    [1.5, 'float8', 1.5],
    [{ a: [1, null, 'x"y'] }, 'jsonb', { a: [1, null, 'x"y'] }],
    [['a', 'b,c', '"', '\\', '', 'NULL', '{}', null], 'text[]', ['a', 'b,c', '"', '\\', '', 'NULL', '{}', null]],
    [[], 'text[]', []],
    [[1, 2], 'int[]', [1, 2]],
    [new Uint8Array([0, 255, 92, 39]), 'bytea', new Uint8Array([0, 255, 92, 39])],
    [[new Uint8Array([1, 2])], 'bytea[]', [new Uint8Array([1, 2])]],
    [new Date(1_767_614_400_123), 'timestamptz', 1_767_614_400_123],
  ])('%o as %s arrives unchanged', async (value, type, back) => {
    expect(await echo(value, type)).toEqual(back)
  })

  test('is never read as SQL', async () => {
    const text = "'); DROP TABLE things; --"
    expect(await echo(text, 'text')).toBe(text)
    expect(await all()).toHaveLength(1)
  })
})

describe('a transaction', () => {
  test('commits all of its statements or none', async () => {
    await database.transaction().execute(async (tx) => {
      await tx.insertInto('things').values({ id: 2, n: 0 }).execute()
      await tx.insertInto('things').values({ id: 3, n: 0 }).execute()
    })
    const broken = database.transaction().execute(async (tx) => {
      await tx.deleteFrom('things').execute()
      throw new RangeError('changed my mind')
    })
    await expect(broken).rejects.toThrow('changed my mind')
    expect(await all()).toHaveLength(3)
  })

  test('whose first statement fails ends, and the next one works', async () => {
    const failing = () =>
      database.transaction().execute((tx) => tx.insertInto('things').values({ id: 1, n: 1 }).execute())
    for (let round = 0; round < 3; round++) expect(await stateOf(failing())).toBe('23505')
    await database.transaction().execute((tx) => tx.deleteFrom('things').execute())
    expect(await all()).toEqual([])
  })

  test('with an ignored failure rejects instead of committing', async () => {
    const ignoring = database.transaction().execute(async (tx) => {
      await tx.insertInto('things').values({ id: 2, n: 0 }).execute()
      await tx
        .insertInto('things')
        .values({ id: 2, n: 0 })
        .execute()
        .catch(() => undefined)
    })
    await expect(ignoring).rejects.toThrow(AbortedTransactionError)
    expect(await all()).toEqual([{ id: 1, n: 0 }])
  })

  test('without statements leaves no transaction open', async () => {
    await database.transaction().execute(async () => undefined)
    await expect(
      database.transaction().execute(async () => {
        throw new RangeError('before anything')
      }),
    ).rejects.toThrow('before anything')
    await database.updateTable('things').set({ n: 9 }).execute()
    // An open transaction would have an id since the update.
    const { rows } = await sql<{ number: string | null }>`
      SELECT pg_current_xact_id_if_assigned()::text AS number`.execute(database)
    expect(rows).toEqual([{ number: null }])
  })

  test('has the requested isolation level and access mode', async () => {
    const settings = await database
      .transaction()
      .setIsolationLevel('serializable')
      .setAccessMode('read only')
      .execute(async (tx) => ({
        level: (await sql<{ transactionIsolation: string }>`SHOW transaction_isolation`.execute(tx)).rows,
        write: await stateOf(tx.deleteFrom('things').execute()),
      }))
      .catch((error: unknown) => error)
    expect(settings).toBeInstanceOf(AbortedTransactionError)
    const level = await database
      .transaction()
      .setIsolationLevel('serializable')
      .execute(async (tx) => (await sql<object>`SHOW transaction_isolation`.execute(tx)).rows)
    expect(level).toEqual([{ transactionIsolation: 'serializable' }])
  })

  test('is isolated: 200 concurrent ones add up, and other statements wait', async () => {
    const order: number[] = []
    const add = (turn: number) =>
      database.transaction().execute(async (tx) => {
        const { n } = await tx.selectFrom('things').select('n').where('id', '=', 1).executeTakeFirstOrThrow()
        await new Promise((resolve) => setTimeout(resolve, turn % 7 === 0 ? 1 : 0))
        await tx
          .updateTable('things')
          .set({ n: n + 1 })
          .where('id', '=', 1)
          .execute()
        order.push(turn)
      })
    const readAt = async (turn: number) => {
      const { n = -1 } = (await all())[0] ?? {}
      // A statement sees all earlier transactions and no later ones.
      expect(n).toBe(turn)
    }
    const turns = Array.from({ length: 200 }, (_, turn) => turn)
    await Promise.all(turns.flatMap((turn) => [add(turn), readAt(turn + 1)]))
    expect(order).toEqual(turns)
  })
})

test('a store that has panicked rejects every statement as unavailable without a query', async () => {
  const { pglite: own, close } = await emptyPglite()
  const onPanic = vi.fn()
  const broken = new Kysely<object>({ dialect: embeddedDialect(own, onPanic) })
  const refused = () => sql`SELECT 1`.execute(broken).then(() => false, isDatabaseUnavailable)
  expect(await refused()).toBe(false)
  const panic = Object.assign(new Error('could not write to log file'), { severity: 'PANIC', code: '58030' })
  const exec = vi.spyOn(own, 'execProtocolStream').mockRejectedValueOnce(panic)
  const commit = broken.transaction().execute((tx) => sql`SELECT 1`.execute(tx))
  expect(await commit.then(() => false, isDatabaseUnavailable)).toBe(true)
  expect([await refused(), await refused()]).toEqual([true, true])
  expect([exec.mock.calls.length, onPanic.mock.calls.length]).toEqual([1, 1])
  exec.mockRestore()
  await close()
})
