import { type RawBuilder, sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/index.ts'
import { deleteExpired } from '../../src/identity/cleanup-store.ts'
import { addMs, days, toDate, toInstant } from '../../src/kernel/index.ts'
import { needs } from '../harness/needs.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const now = toInstant(Date.UTC(2026, 10, 23))
const settings = { failures: { windowMs: 900_000 }, knownDevices: { retentionMs: days(90) } }
const account = sql`'01990000-0000-7000-8000-0000000000aa'::uuid`
function idOf(n: RawBuilder<unknown>) {
  return sql`('01990000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
}

/** One of each per hour. The newest ones expire now. Foreign keys are not checked. */
function fill(database: Database, hours: number) {
  return database.transaction().execute(async (tx) => {
    const end = sql`(${toDate(now)}::timestamptz - n * interval '1 hour')`
    const n = sql`FROM generate_series(0, ${hours - 1}::int) AS n`
    await sql`SET LOCAL session_replication_role = replica`.execute(tx)
    await sql`INSERT INTO sessions (biz_id, portal, account_biz_id, client_digest, client_ip, user_agent, login_at,
        last_activity_at, idle_expires_at, expires_at)
      SELECT ${idOf(sql`n`)}, 'CONSUMER', ${account}, '', '', '', ${end}, ${end}, ${end}, ${end} ${n}`.execute(tx)
    await sql`INSERT INTO refresh_tokens (token_digest, portal, session_biz_id, created_at, expires_at)
      SELECT int4send(n), 'CONSUMER', ${idOf(sql`n`)}, ${end}, ${end} ${n}`.execute(tx)
    await sql`INSERT INTO login_failures (portal, subject_digest, window_started_at, failures)
      SELECT 'CONSUMER', int4send(n), ${end}, 1 ${n}`.execute(tx)
  })
}

const tables = ['sessions', 'refresh_tokens', 'login_failures'] as const

describe.each(stores)('cleanup on $name', ({ name, database }) => {
  const countRows = () =>
    Promise.all(tables.map(async (table) => (await database.selectFrom(table).select('portal').execute()).length))

  test('refresh tokens and failures are deleted after 1 day, sessions after 30 days', async () => {
    await fill(database, 31 * 24)
    await deleteExpired(database, now, settings)
    expect(await countRows()).toEqual([30 * 24 + 1, 25, 25])
    await deleteExpired(database, addMs(now, days(31)), settings)
    expect(await countRows()).toEqual([0, 0, 0])
  })

  test('rows are deleted in batches; an aborted run stops between two batches, and the next run continues', async () => {
    await fill(database, 4_000)
    const batches: number[] = []
    const controller = new AbortController()
    const watched = database.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        const deleted = Number(result.numAffectedRows)
        if (deleted > 0) batches.push(deleted)
        if (batches.length === 2) controller.abort(new Error('down'))
        return result
      },
    })
    await expect(deleteExpired(watched, now, settings, controller.signal)).rejects.toThrow('down')
    expect(batches).toEqual([1_000, 1_000])
    await deleteExpired(database, now, settings)
    expect(await countRows()).toEqual([30 * 24 + 1, 25, 25])
    await deleteExpired(database, addMs(now, days(31)), settings)
  })

  test(
    'a failure that is being counted is skipped without waiting',
    needs(name !== 'PGlite', 'PGlite has one connection'),
    async () => {
      await fill(database, 26)
      await database.transaction().execute(async (tx) => {
        await sql`UPDATE login_failures SET window_started_at = ${toDate(now)}`.execute(tx)
        await deleteExpired(database, now, settings)
      })
      expect((await countRows())[2]).toBe(26)
      await deleteExpired(database, addMs(now, days(31)), settings)
    },
  )

  test('rows that have not expired are not read', async () => {
    await fill(database, 5_000)
    await sql`ANALYZE`.execute(database)
    const before = addMs(now, -5_000 * 3_600_000)
    const read = await rowsRead(database, (watched) => deleteExpired(watched, before, settings))
    expect(tables.map(read)).toEqual([0, 0, 0])
  })
})
