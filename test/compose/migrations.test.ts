import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { readCatalog } from '../harness/catalog.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

test.skipIf(stores.length < 2)('the embedded store and PostgreSQL have the same schema', async () => {
  const catalogs = await Promise.all(
    stores.map(({ database }) =>
      readCatalog(async (query) => (await sql.raw<{ line: string }>(query).execute(database)).rows),
    ),
  )
  expect(catalogs[0]?.length).toBeGreaterThan(700)
  for (const catalog of catalogs) expect(catalog).toEqual(catalogs[0])
})
