import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, readByKeys, readPage } from '../../src/database/index.ts'
import { maxExactTotal } from '../../src/database/queries.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const all = 12_000

describe.each(stores)('readPage on $name', ({ database }) => {
  beforeAll(async () => {
    await sql`
      INSERT INTO idempotency (account_biz_id, workspace_biz_id, operation, request_id, body_hash, result, created_at)
      SELECT gen_random_uuid(), gen_random_uuid(), 'lists', to_char(n, 'FM00000'), '', '{}', now()
        FROM generate_series(1, ${all}::int) AS n`.execute(database)
    await sql`ANALYZE idempotency`.execute(database)
  })

  /** The requests up to a number, in their order. */
  const read = async (matching: number, currentPage: number, pageSize = 100) => {
    const last = String(matching).padStart(5, '0')
    const found = database.selectFrom('idempotency').where('operation', '=', 'lists').where('requestId', '<=', last)
    const keys = found.select('requestId').orderBy('requestId')
    const rows = readByKeys(keys, (page) =>
      database.selectFrom('idempotency').select('requestId').where('requestId', 'in', page).orderBy('requestId'),
    )
    return readPage(found, rows, { currentPage, pageSize })
  }

  test.each([0, 1, 99, 100, 101, 9_999, maxExactTotal])('%i records: the total is exact', async (matching) => {
    const { items, pagination, isTotalEstimated } = await read(matching, 1)
    expect(items.length).toBe(Math.min(matching, 100))
    expect(pagination).toMatchObject({ totalRecords: matching, hasNext: matching > 100, empty: matching === 0 })
    expect(isTotalEstimated).toBeUndefined()
  })

  test('more than 10,000 records: the total is an estimate above 10,000', async () => {
    const { items, pagination, isTotalEstimated } = await read(all, 1)
    expect(items[0]).toEqual({ requestId: '00001' })
    expect(pagination.totalRecords).toBeGreaterThan(maxExactTotal)
    expect(pagination.totalRecords).toBeLessThan(2 * all)
    expect([pagination.hasNext, isTotalEstimated]).toEqual([true, true])
  })

  test('more than 10,000 records: hasNext of deep pages is exact', async () => {
    const deep = await Promise.all([119, 120, 121].map((currentPage) => read(all, currentPage)))
    expect(deep.map(({ items }) => items.length)).toEqual([100, 100, 0])
    expect(deep.map(({ items }) => items.at(-1))).toEqual([{ requestId: '11900' }, { requestId: '12000' }, undefined])
    expect(deep.map(({ pagination: { hasNext } }) => hasNext)).toEqual([true, false, false])
    expect(deep.slice(1).map(({ pagination }) => pagination.totalRecords)).toEqual([all, all])
  })

  test('a partial page beyond 10,000 records: the total is exact', async () => {
    const { items, pagination, isTotalEstimated } = await read(11_950, 120)
    expect([items.length, pagination.totalRecords, isTotalEstimated]).toEqual([50, 11_950, undefined])
  })

  test('within a transaction', async () => {
    const total = await database.transaction().execute(async (tx: Database) => {
      const found = tx.selectFrom('idempotency').where('requestId', '<=', '00150')
      const page = await readPage(found, found.select('requestId').orderBy('requestId'), {
        currentPage: 1,
        pageSize: 9,
      })
      return page.pagination.totalRecords
    })
    expect(total).toBe(150)
  })
})
