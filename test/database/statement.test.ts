import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { embeddedDialect } from '../../src/database/embedded/dialect.ts'
import { type Database, type Given, statement, type Tables } from '../../src/database/index.ts'
import { emptyPglite, type TestPglite } from '../harness/prepared-pglite.ts'

interface Values {
  text: string | null
  bytes: Uint8Array
  at: Date
}

let store: TestPglite
let database: Database
let built = 0
const asked = statement((store, given: Given<Values>) => {
  built += 1
  return store.selectNoFrom([
    sql<string | null>`${given('text')}::text`.as('text'),
    sql<string>`coalesce(${given('text')}::text, 'none')`.as('again'),
    sql<string>`encode(${given('bytes')}::bytea, 'hex')`.as('bytes'),
    sql<string>`to_char(${given('at')}::timestamptz AT TIME ZONE 'UTC', 'YYYY')`.as('year'),
    sql<number>`${7}::int`.as('fixed'),
  ])
})

beforeAll(async () => {
  store = await emptyPglite()
  database = new Kysely<Tables>({ dialect: embeddedDialect(store.pglite) })
})
afterAll(() => store?.close())

const valuesOf = (n: number): Values => ({
  text: n % 3 === 0 ? null : `text ${n}`,
  bytes: Uint8Array.of(n),
  at: new Date(Date.UTC(2000 + n, 5)),
})
const rowOf = (n: number) => ({
  text: n % 3 === 0 ? null : `text ${n}`,
  again: n % 3 === 0 ? 'none' : `text ${n}`,
  bytes: n.toString(16).padStart(2, '0'),
  year: String(2000 + n),
  fixed: 7,
})

test('a statement is built once, and asks with the values of each asking, in transactions and beside each other', async () => {
  const numbers = Array.from({ length: 40 }, (_, n) => n)
  const beside = numbers.map((n) => asked.first(database, valuesOf(n)))
  const within = database.transaction().execute((tx) => asked.all(tx, valuesOf(41)))
  expect(await Promise.all(beside)).toEqual(numbers.map(rowOf))
  expect(await within).toEqual([rowOf(41)])
  expect(built).toBe(1)
})
