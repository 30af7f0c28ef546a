import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { type Database, type Param, statement, type Tables } from '../../src/database/index.ts'
import { emptyPglite, type TestPglite } from '../harness/prepared-pglite.ts'

interface Values {
  text: string | null
  bytes: Uint8Array
  at: Date
}

let store: TestPglite
let database: Database
let built = 0
const select = statement((store, param: Param<Values>) => {
  built += 1
  return store.selectNoFrom([
    sql<string | null>`${param('text')}::text`.as('text'),
    sql<string>`coalesce(${param('text')}::text, 'none')`.as('again'),
    sql<string>`encode(${param('bytes')}::bytea, 'hex')`.as('bytes'),
    sql<string>`to_char(${param('at')}::timestamptz AT TIME ZONE 'UTC', 'YYYY')`.as('year'),
    sql<number>`${7}::int`.as('fixed'),
  ])
})

beforeAll(async () => {
  store = await emptyPglite()
  database = new Kysely<Tables>({ dialect: embeddedDialect(store.pglite) })
})
afterAll(() => store.close())

function valuesOf(n: number): Values {
  return {
    text: n % 3 === 0 ? null : `text ${n}`,
    bytes: Uint8Array.of(n),
    at: new Date(Date.UTC(2000 + n, 5)),
  }
}
function rowOf(n: number) {
  return {
    text: n % 3 === 0 ? null : `text ${n}`,
    again: n % 3 === 0 ? 'none' : `text ${n}`,
    bytes: n.toString(16).padStart(2, '0'),
    year: String(2000 + n),
    fixed: 7,
  }
}

test('statement: built once, executed with the values of each call, also in transactions', async () => {
  const numbers = Array.from({ length: 40 }, (_, n) => n)
  const concurrent = numbers.map((n) => select.first(database, valuesOf(n)))
  const within = database.transaction().execute((tx) => select.all(tx, valuesOf(41)))
  expect(await Promise.all(concurrent)).toEqual(numbers.map(rowOf))
  expect(await within).toEqual([rowOf(41)])
  expect(built).toBe(1)
})
