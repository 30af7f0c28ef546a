import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { readCatalog } from '../harness/catalog.ts'
import { needsPostgres } from '../harness/needs.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** The embedded store does not have the extension pg_trgm and its indexes. */
function isOfTrigrams(line: string): boolean {
  return /trgm|_trigrams\b/.test(line)
}

test('the embedded store and PostgreSQL have the same schema', needsPostgres(stores[1]), async () => {
  const catalogs = await Promise.all(
    stores.map(({ database }) =>
      readCatalog(async (query) => (await sql.raw<{ line: string }>(query).execute(database)).rows),
    ),
  )
  expect(catalogs[0]?.length).toBeGreaterThan(700)
  for (const catalog of catalogs) expect(catalog.filter((line) => !isOfTrigrams(line))).toEqual(catalogs[0])
  expect(catalogs[1]?.filter((line) => line.startsWith('index ') && isOfTrigrams(line))).toHaveLength(3)
})
