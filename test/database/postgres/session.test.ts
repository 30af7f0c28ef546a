import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenDatabase, openDatabase } from '../../../src/database/index.ts'
import { acquireSingletonLock } from '../../../src/database/postgres/singleton-lock.ts'
import type { Database, Tx } from '../../../src/database/tables.ts'
import { createSnapshotReader } from '../../../src/database/transaction.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { startPgBouncer } from '../../harness/pgbouncer.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

const server = await emptyPostgres()
async function admin(statement: string) {
  const client = new Client({ connectionString: server?.url })
  await client.connect()
  return client.query(statement).finally(() => client.end())
}
function databaseUrl(name: string) {
  return server?.url.replace(/[^/]+$/, name) ?? ''
}
if (server) {
  await admin('CREATE DATABASE odd')
  await admin("ALTER DATABASE odd SET DateStyle = 'SQL, DMY'")
  await admin("ALTER DATABASE odd SET default_transaction_isolation = 'serializable'")
  for (const each of ['statement_timeout', 'lock_timeout']) await admin(`ALTER DATABASE odd SET ${each} = '300ms'`)
  for (const each of ['idle_in_transaction_session_timeout', 'idle_session_timeout'])
    await admin(`ALTER DATABASE odd SET ${each} = '300ms'`)
  if (Number.parseInt(server.version, 10) >= 17) await admin("ALTER DATABASE odd SET transaction_timeout = '300ms'")
}
const pooler = server && (await startPgBouncer(databaseUrl('odd'), 2))
afterAll(async () => {
  await pooler?.stop()
  await server?.stop()
})

const targets = [
  ['PostgreSQL', server && { url: databaseUrl('odd') }],
  ['PgBouncer in transaction mode', pooler],
] as const

describe('a database with other session defaults', () => {
  describe.each(targets)('%s', (name, target) => {
    if (!target) return void test('a server', needsPostgres(target), () => undefined)
    const { url } = target
    let store: OpenDatabase
    beforeAll(async () => {
      store = await openDatabase(postgresTarget(url))
    })
    afterAll(() => store?.close())

    const readEverywhere = async <T>(read: (store: Database | Tx) => Promise<T>): Promise<T[]> => [
      await read(store.database),
      await store.database.transaction().execute(read),
      await store.withoutTimeouts(read),
    ]

    test('dates: parsed in ISO order', async () => {
      const at = '2026-11-05T05:01:44.123Z'
      const read = async (store: Database | Tx) =>
        (await sql<{ at: number }>`SELECT ${at}::timestamptz AS at`.execute(store)).rows[0]?.at
      expect(await readEverywhere(read)).toEqual([Date.parse(at), Date.parse(at), Date.parse(at)])
    })

    test('isolation: read committed by default, repeatable read for a snapshot', async () => {
      const read = async (store: Database | Tx) =>
        (await sql<{ level: string }>`SELECT current_setting('transaction_isolation') AS level`.execute(store)).rows[0]
          ?.level
      expect(await readEverywhere(read)).toEqual(['read committed', 'read committed', 'read committed'])
      const snapshot = store.database.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
      expect(await snapshot.execute(read)).toBe('repeatable read')
    })

    test('idle in transaction: ended after 30 s, never in a snapshot', async () => {
      const read = async (store: Database | Tx) =>
        (
          await sql<{
            silence: string
          }>`SELECT current_setting('idle_in_transaction_session_timeout') AS silence`.execute(store)
        ).rows[0]?.silence
      expect(await readEverywhere(read)).toEqual(['30s', '30s', '30s'])
      expect(await createSnapshotReader(store, systemClock)(({ store: snapshot }) => read(snapshot))).toBe('0')
      expect(await read(store.database)).toBe('30s')
    })

    test('an idle connection: not ended by the server', async () => {
      const read = async () =>
        (await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(store.database)).rows[0]?.pid
      const before = await read()
      await pause(600)
      const after = await read()
      // The pooler may open another session.
      expect(after).toEqual(name === 'PostgreSQL' ? before : expect.any(Number))
    })

    test('the singleton lock and withoutTimeouts: no timeout', async () => {
      const states: string[] = []
      const lock = await acquireSingletonLock({
        url,
        connectTimeoutMs: 20_000,
        onChange: (state) => states.push(state),
      })
      const other = new Client({ connectionString: databaseUrl('odd') })
      await other.connect()
      await other.query('SET idle_session_timeout = 0; SELECT pg_advisory_lock(1)')
      const unlock = pause(800).then(() => other.end())
      await store.withoutTimeouts(async (database) => {
        await database.transaction().execute(async (tx) => {
          await sql`SELECT 1`.execute(tx)
          await pause(400)
          await sql`SELECT pg_advisory_xact_lock(1)`.execute(tx)
        })
      })
      await unlock
      await lock.release()
      expect(states).toEqual([])
    })

    test('the singleton lock: does not hold back VACUUM', async () => {
      const lock = await acquireSingletonLock({ url, connectTimeoutMs: 20_000, onChange: () => undefined })
      const { rows } = await admin(
        "SELECT backend_xmin FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory'",
      )
      await lock.release()
      expect(rows).toEqual([{ backend_xmin: null }])
    })
  })
})
