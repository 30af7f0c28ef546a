import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { isValidAt, validAt } from '../../src/database/index.ts'
import { type Instant, toDate, toInstant } from '../../src/kernel/index.ts'
import { emptyPglite, type TestPglite } from '../harness/prepared-pglite.ts'

const from = toInstant(Date.UTC(2026, 0, 31, 12))
const lifetimeMs = 60_000
const until = toInstant(from + lifetimeMs)

let store: TestPglite
let database: Kysely<object>
beforeAll(async () => {
  store = await emptyPglite()
  database = new Kysely({ dialect: embeddedDialect(store.pglite) })
})
afterAll(() => store.close())

async function validInSql(at: Instant): Promise<boolean> {
  const { rows } = await sql<{ valid: boolean }>`
    SELECT ${validAt('begins', 'ends', at)} AS valid
      FROM (SELECT ${toDate(from)}::timestamptz AS begins, ${toDate(until)}::timestamptz AS ends) AS row`.execute(
    database,
  )
  return rows[0]?.valid === true
}

test.each([
  ['at its beginning', 0, true],
  ['in its last millisecond', lifetimeMs - 1, true],
  ['at its end', lifetimeMs, false],
  ['after its end', lifetimeMs + 1, false],
  ['with the clock set back by its whole lifetime', -lifetimeMs, true],
  ['with the clock set back by more than its lifetime', -lifetimeMs - 1, false],
])('validity %s: the same in SQL and in memory', async (_when, offset, expected) => {
  const at = toInstant(from + offset)
  expect([isValidAt({ from, until }, at), await validInSql(at)]).toEqual([expected, expected])
})
