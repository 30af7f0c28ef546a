/*
 * `npm run measure:partitions [rows] [partitions]` creates ledger entries in partitions of equal size. Then it compares an
 * archive with DELETE, and attach, split, detach and reads, while two connections insert entries. At the end it compares
 * PostgreSQL's CPU time of transfers with and without partitions. Needs about 350 bytes of disk per row in `TMPDIR`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, stdout } from 'node:process'
import { sql } from 'kysely'
import type { Database } from '../../../src/database/index.ts'
import { addMs, days } from '../../../src/kernel/index.ts'
import { ledgerArchiveRules } from '../../../src/ledger/index.ts'
import { archiveOldest, detachPartition } from '../../../src/platform/partitions/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { execute, openServer, urlOf } from '../../harness/prepared-postgres.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { median } from '../report/stats.ts'
import { startLoad } from './load.ts'
import { accounts, attach, createAccounts, createMonth } from './months.ts'
import { compareTransfers } from './transfers.ts'

const rows = Number(argv[2] ?? 50_000_000)
const months = Number(argv[3] ?? 10)
const rowsPerMonth = Math.round(rows / months)
const quietSeconds = 15

function print(text: string): void {
  stdout.write(`${text}\n`)
}

async function open(serverUrl: string, name: string, poolSize: number) {
  await execute(serverUrl, `CREATE DATABASE ${name}`)
  const store = await openServer(urlOf(serverUrl, name), poolSize)
  await store.migrate(schemaOwners)
  return store
}

async function walBytes(database: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`SELECT (pg_current_wal_lsn() - '0/0')::bigint AS bytes`.execute(
    database,
  )
  return rows[0]?.bytes ?? 0
}

/** Of the last 20 entries of 200 accounts, in milliseconds. */
async function readLists(database: Database): Promise<number[]> {
  const times: number[] = []
  for (let number = 0; number < 200; number++) {
    const before = performance.now()
    await sql`SELECT * FROM ledger_entries WHERE account_biz_id = ${sql.raw(accounts.id(`${number * 37}`))}
      ORDER BY created_at DESC, sequence DESC LIMIT 20`.execute(database)
    times.push(performance.now() - before)
  }
  return times
}

const server = await startPostgres({
  ...{ shared_buffers: '1GB', maintenance_work_mem: '512MB', max_wal_size: '6GB', wal_level: 'minimal' },
  ...{ max_wal_senders: '0', autovacuum: 'off', checkpoint_timeout: '15min' },
})
if (!server) throw new Error('no PostgreSQL is installed')
const folder = await mkdtemp(join(tmpdir(), 'portico-archive-'))
try {
  const store = await open(server.url, 'large', 8)
  const { database } = store
  const bank = await createTestBank(database)
  bank.clock.advance(systemClock.now() - bank.clock.now())
  const wallets = await Promise.all(Array.from({ length: 8 }, () => bank.wallet('USD', '1000000.00')))
  const started = performance.now()
  await store.inOwnSession((each) => createAccounts(each, wallets[0]?.workspace ?? ''))
  const create = async (first: number): Promise<void> => {
    for (let month = first; month < months; month += 2)
      await store.inOwnSession((each) => createMonth(each, month, rowsPerMonth))
  }
  await Promise.all([create(0), create(1)])
  print(`created ${months * rowsPerMonth} entries in ${((performance.now() - started) / 1_000).toFixed(0)} s`)

  const load = startLoad(database, wallets)
  const measure = async (name: string, work: () => Promise<unknown>, repeat = 1): Promise<void> => {
    load.reset()
    const wal = await walBytes(database)
    const before = performance.now()
    for (let index = 0; index < repeat; index++) await work()
    const seconds = (performance.now() - before) / 1_000 / repeat
    const written = ((await walBytes(database)) - wal) / repeat
    const { count, max, p99 } = load.latencies()
    print(
      `${name}: ${seconds.toFixed(2)} s, WAL ${(written / 1e6).toFixed(0)} MB; ${count} inserts, p99 ${p99.toFixed(0)} ms, max ${max.toFixed(0)} ms`,
    )
  }
  const inSession = (work: (each: Database) => Promise<unknown>) => store.inOwnSession(work)
  const wait = () => new Promise((resolve) => setTimeout(resolve, quietSeconds * 1_000))

  await measure('nothing else', wait)
  await measure(`attach ${months} months with a validated check`, () => inSession((each) => attach(each, months)))
  await inSession((each) => sql`ANALYZE ledger_entries`.execute(each))
  print(`lists over all months: median ${median(await readLists(database)).toFixed(2)} ms`)
  await measure('split of the last partition', () =>
    inSession((each) => sql`SELECT partition_split('ledger_entries'::regclass, '2190-01-01')`.execute(each)),
  )
  await measure('DELETE of a month', () =>
    inSession((each) =>
      each.transaction().execute(async (tx) => {
        await sql`SET LOCAL session_replication_role = replica`.execute(tx)
        await sql`DELETE FROM ledger_entries WHERE tableoid = 'ledger_entries_month_1'::regclass
          AND created_at >= '2015-02-01Z' AND created_at < '2015-03-01Z'`.execute(tx)
      }),
    ),
  )
  await measure('VACUUM after it', () => inSession((each) => sql`VACUUM ledger_entries_month_1`.execute(each)))
  await measure('DETACH CONCURRENTLY and DROP of a month', () =>
    inSession(async (each) => {
      await detachPartition(each, 'ledger_entries', 'ledger_entries_month_2')
      await sql`DROP TABLE ledger_entries_month_2`.execute(each)
    }),
  )
  await measure('portico archive of a month', () =>
    inSession((each) =>
      archiveOldest('ledger_entries', {
        ...{ database: each, rules: ledgerArchiveRules, folder, olderThanDays: 92, onWritten: () => undefined },
        clock: { now: () => addMs(systemClock.now(), days(1)) },
      }),
    ),
  )
  print(`lists over the other months: median ${median(await readLists(database)).toFixed(2)} ms`)
  await load.stop()
  await store.close()
  await compareTransfers(server.url, print)
} catch (error) {
  print(String(error))
  throw error
} finally {
  await server.stop()
  await rm(folder, { recursive: true })
}
