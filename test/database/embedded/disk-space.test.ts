import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { embeddedDialect } from '../../../src/database/embedded/dialect.ts'
import { vacuum } from '../../../src/database/embedded/disk-space.ts'
import type { Tables } from '../../../src/database/tables.ts'
import { emptyPglite, type TestPglite } from '../../harness/prepared-pglite.ts'

let store: TestPglite
let database: Kysely<Tables>
beforeAll(async () => {
  store = await emptyPglite()
  database = new Kysely({ dialect: embeddedDialect(store.pglite) })
  for (const name of ['things', '"Other things"'])
    await sql.raw(`CREATE TABLE ${name} (id int PRIMARY KEY, body text NOT NULL)`).execute(database)
})
afterAll(() => store?.close())

const inUse = new AbortController().signal
async function replaceAll(): Promise<void> {
  await sql`DELETE FROM things`.execute(database)
  await sql`INSERT INTO things SELECT n, repeat(md5(n::text), 10) FROM generate_series(1, 5000) n`.execute(database)
}
async function size() {
  return (
    (await sql<{ bytes: number }>`SELECT pg_relation_size('things')::int AS bytes`.execute(database)).rows[0]?.bytes ??
    0
  )
}

test('vacuum: reuses the space of deleted rows, which PGlite does not do alone', async () => {
  await replaceAll()
  const once = await size()
  await replaceAll()
  const twice = await size()
  expect(twice).toBeGreaterThan(1.9 * once)
  await vacuum(database, inUse)
  for (let round = 0; round < 3; round++) {
    await replaceAll()
    await vacuum(database, inUse)
  }
  expect(await size()).toBeLessThanOrEqual(twice)
})

test('vacuum: updates the row estimates of every table', async () => {
  await replaceAll()
  await vacuum(database, inUse)
  const { rows } = await sql`SELECT relname, reltuples::int FROM pg_class
    WHERE relname IN ('things', 'Other things') ORDER BY relname`.execute(database)
  expect(rows).toEqual([
    { relname: 'Other things', reltuples: 0 },
    { relname: 'things', reltuples: 5000 },
  ])
})

test('vacuum: yields between tables and stops there when aborted', async () => {
  const stopping = new AbortController()
  setImmediate(() => stopping.abort(new Error('shutting down')))
  await expect(vacuum(database, stopping.signal)).rejects.toThrow('shutting down')
  expect((await sql`SELECT 1 AS one`.execute(database)).rows).toEqual([{ one: 1 }])
})
