import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/index.ts'
import { addMs, days } from '../../../src/kernel/index.ts'
import {
  detachPartition,
  extendPartitions,
  listPartitions,
  partitionedTables,
} from '../../../src/platform/partitions/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'
import { servingRights, servingRole } from '../../harness/rights.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
const server = await emptyPostgres()
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await server?.stop()
})

const now = systemClock.now()
const entry = (days: number) => sql`
  INSERT INTO audit_log (at, portal, action, outcome, request_id, client_ip)
  VALUES (now() + ${days}::int * interval '1 day', 'SYSTEM', 'test', 'SUCCESS', 'r', '')`

/** The number of rows by partition, in the order of their bounds. */
async function rowsOf(database: Database): Promise<string[]> {
  const { rows } = await sql<{ rows: string }>`
    SELECT tableoid::regclass || ' ' || count(*) AS rows FROM audit_log GROUP BY tableoid ORDER BY min(at)`.execute(
    database,
  )
  return rows.map((row) => row.rows)
}

describe.each(stores)('partitions on $name', ({ database }) => {
  test('a new store has partitions for this month and the next two, and one without an end', async () => {
    for (const table of partitionedTables) {
      const partitions = await listPartitions(database, table)
      expect(partitions.filter(({ lower }) => lower === null)).toHaveLength(1)
      expect(partitions.filter(({ upper }) => upper === null)).toHaveLength(1)
      expect(partitions).toHaveLength(table === 'events' ? 2 : 4)
    }
  })
  test('a later run adds the missing months, and a second one nothing', async () => {
    await extendPartitions(database, 'login_history', addMs(now, days(70)))
    const added = await listPartitions(database, 'login_history')
    expect(added.length).toBeGreaterThan(5)
    await extendPartitions(database, 'login_history', addMs(now, days(70)))
    expect(await listPartitions(database, 'login_history')).toHaveLength(added.length)
  })
  test('after a jump of the clock by two years, rows enter the last partition, and later months are added', async () => {
    await entry(730).execute(database)
    await entry(0).execute(database)
    expect(await rowsOf(database)).toHaveLength(2)
    await extendPartitions(database, 'audit_log', now)
    const before = await listPartitions(database, 'audit_log')
    expect(before).toHaveLength(4)
    await extendPartitions(database, 'audit_log', addMs(now, days(100)))
    const after = await listPartitions(database, 'audit_log')
    expect(after).toHaveLength(5)
    expect(await rowsOf(database)).toHaveLength(2)
    await entry(730).execute(database)
    await entry(1_000).execute(database)
    expect(await rowsOf(database)).toHaveLength(3)
  })
})

describe('an existing store', needsPostgres(server), () => {
  const connect = async (name: string, user?: string) => {
    const url = new URL(`/${name}`, server?.url)
    if (user) url.username = user
    const client = new Client({ connectionString: url.href })
    await client.connect()
    return client
  }
  const open = async (name: string) => {
    const admin = await connect('postgres')
    await admin.query(`CREATE DATABASE ${name}`)
    await admin.end()
    return openDatabase(postgresTarget(new URL(`/${name}`, server?.url).href))
  }
  /** The schema before partitions. */
  const earlier = schemaOwners
    .filter(({ owner }) => owner !== 'partitions')
    .map(({ owner, migrations }) => {
      const end = migrations.findIndex(({ name }) => name.endsWith('-partitions'))
      return { owner, migrations: end < 0 ? migrations : migrations.slice(0, end) }
    })

  test('keeps its rows and rights in the first partition, which a serving role can end', async () => {
    await using store = await open('existing').then((opened) =>
      Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() }),
    )
    await store.migrate(earlier)
    const owner = await connect('existing')
    for (const statement of servingRights) await owner.query(statement)
    for (const age of [-400, -1, 0]) await entry(age).execute(store.database)
    await store.migrate(schemaOwners)
    expect(await rowsOf(store.database)).toEqual(['audit_log_first 3'])

    const serving = await connect('existing', servingRole)
    await serving.query(`INSERT INTO audit_log (at, portal, action, outcome, request_id, client_ip)
      VALUES (now(), 'SYSTEM', 'test', 'SUCCESS', 'r', '')`)
    await expect(serving.query('DROP TABLE audit_log_first')).rejects.toThrow('must be owner')
    await expect(serving.query('SELECT FROM audit_log_first')).rejects.toThrow('permission denied')
    await expect(serving.query(`SELECT partition_split('jobs'::regclass, '1')`)).rejects.toThrow()
    await serving.end()

    const served = await openDatabase(
      postgresTarget(new URL(`postgres://${servingRole}@${new URL(server?.url ?? '').host}/existing`).href),
    )
    await extendPartitions(served.database, 'audit_log', now)
    await served.close()
    expect(await listPartitions(store.database, 'audit_log')).toHaveLength(3)
    expect(await rowsOf(store.database)).toEqual(['audit_log_first 4'])
    await entry(70).execute(store.database)
    expect(await rowsOf(store.database)).toHaveLength(2)
    await owner.end()
  })
  test('the session of an archive can detach concurrently', async () => {
    const store = await open('detached')
    await store.migrate(schemaOwners)
    await store.inOwnSession((database) => detachPartition(database, 'login_history', 'login_history_first'))
    expect(await listPartitions(store.database, 'login_history')).toHaveLength(3)
    await store.close()
  })
  test('a busy table delays requests by 200 ms at most, and partitions are added later', async () => {
    const store = await open('busy')
    await store.migrate(schemaOwners)
    const reader = await connect('busy')
    await reader.query('BEGIN; SELECT FROM login_history')
    const split = sql`SELECT partition_split('login_history'::regclass, '2190-01-01')`
    await expect(split.execute(store.database)).rejects.toMatchObject({ code: '55P03' })
    await reader.query('COMMIT')
    await reader.end()
    await split.execute(store.database)
    expect((await listPartitions(store.database, 'login_history')).map(({ name }) => name)).toContain(
      'login_history_2190_01',
    )
    await store.close()
  })
})
