import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toCamelCase, toSnakeCase } from '../../src/database/column-names.ts'
import type { Tables } from '../../src/database/index.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

interface Book {
  bizId: number
  printedAt: string
  keyLast4: string | null
  extraData: unknown
}
interface Library {
  card_books: Book
}

describe.each(stores)('columns on $name', (store) => {
  const database = store.database as unknown as Kysely<Library>
  const book = { bizId: 1, printedAt: '1998', keyLast4: null, extraData: { due_on: 'today', dueOn: 'tomorrow' } }
  beforeAll(async () => {
    await sql`CREATE TABLE card_books (biz_id int PRIMARY KEY, printed_at text, key_last4 text, extra_data jsonb)`.execute(
      database,
    )
    await sql`CREATE TABLE "Old cardBooks" (n int)`.execute(database)
    await database
      .insertInto('card_books')
      .values({ ...book, extraData: JSON.stringify(book.extraData) })
      .execute()
  })

  test('are in camel case in queries and rows; keys within jsonb stay as they are', async () => {
    expect(await database.selectFrom('card_books').selectAll().execute()).toEqual([book])
    const changed = database.updateTable('card_books as b').set({ keyLast4: '1234' }).where('b.bizId', '=', 1)
    const renamed = changed.returning(['b.keyLast4 as endOfKey', 'b.printedAt']).executeTakeFirst()
    expect(await renamed).toEqual({ endOfKey: '1234', printedAt: '1998' })
    const twice = database.insertInto('card_books').values({ ...book, extraData: '{}' })
    const onConflict = twice.onConflict((each) => each.columns(['bizId']).doUpdateSet({ printedAt: '1999' }))
    expect(await onConflict.returning('printedAt').execute()).toEqual([{ printedAt: '1999' }])
  })

  test('of CTEs, subqueries and orders by an alias are the same names', async () => {
    const rows = database
      .with('oldBooks', (db) => db.selectFrom('card_books').select(['bizId as bookNumber', 'printedAt']))
      .selectFrom((eb) => eb.selectFrom('oldBooks').select(['bookNumber', 'printedAt as printedIn']).as('innerBooks'))
      .select([
        'innerBooks.bookNumber',
        'printedIn',
        sql<number>`${sql.ref('innerBooks.bookNumber')} + 1`.as('nextOne'),
      ])
      .orderBy('nextOne')
    expect(await rows.execute()).toEqual([{ bookNumber: 1, printedIn: expect.any(String), nextOne: 2 }])
  })

  test('of a `sql` template are in snake case in its text, and in camel case in its rows', async () => {
    const { rows } = await sql`SELECT biz_id, printed_at AS "inYear", extra_data FROM card_books`.execute(database)
    expect(rows).toEqual([{ bizId: 1, inYear: expect.any(String), extraData: expect.anything() }])
  })

  test('names of tables stay as they are', async () => {
    const { rows } = await sql`SELECT count(*)::int AS row_count FROM ${sql.table('Old cardBooks')}`.execute(database)
    expect(rows).toEqual([{ rowCount: 0 }])
  })
})

test('every column has a name that both directions agree on', async () => {
  for (const { database } of stores) {
    const { rows } = await sql<{ columnName: string }>`
      SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()`.execute(database)
    const names = rows.map(({ columnName }) => columnName)
    expect(names.length).toBeGreaterThan(200)
    expect(names.filter((name) => toSnakeCase(toCamelCase(name)) !== name)).toEqual([])
  }
})

test('no table declares a column in snake case', () => {
  type InSnakeCase = { [Name in keyof Tables]: Extract<keyof Tables[Name], `${string}_${string}`> }[keyof Tables]
  const none: [InSnakeCase] extends [never] ? true : InSnakeCase = true
  expect(none).toBe(true)
})
