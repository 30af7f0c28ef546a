import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/index.ts'
import { addMs, days, type Instant } from '../../../src/kernel/index.ts'
import { ledgerArchiveRules, verifyRecentChanges } from '../../../src/ledger/index.ts'
import { auditArchiveRules, readStart, sealAuditLog, verifyAuditLog } from '../../../src/platform/audit/index.ts'
import {
  type ArchivedTable,
  type ArchiveRules,
  archiveOldest,
  detachPartition,
  extendPartitions,
  listPartitions,
} from '../../../src/platform/partitions/index.ts'
import { systemClock, systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'

const stores = await everyStore()
const root = await mkdtemp(join(tmpdir(), 'portico-archive-'))
/** Of one store. */
let folder = root
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await rm(root, { recursive: true })
})

const now = systemClock.now()
/** When the partition of this month is old enough. */
const later = addMs(now, days(500))
const noRules: ArchiveRules = { check: async () => undefined, record: async () => undefined }

function archive(database: Database, table: ArchivedTable, rules: ArchiveRules, at: Instant = later) {
  return archiveOldest(table, {
    ...{ database, rules, folder, olderThanDays: 400, clock: { now: () => at } },
    onWritten: () => undefined,
  })
}

function linesOf(file: string): Record<string, unknown>[] {
  return readFileSync(join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe.each(stores)('archiving on $name', ({ database }) => {
  beforeAll(async () => {
    folder = await mkdtemp(join(root, 'store-'))
  })
  const execute = (text: string) => sql.raw(text).execute(database)
  const namesOf = async (table: ArchivedTable) => (await listPartitions(database, table)).map(({ name }) => name)

  test('nothing younger than 92 days leaves the store, regardless of the options', async () => {
    const young = { database, rules: noRules, folder, olderThanDays: 0, onWritten: () => undefined }
    const at = addMs(now, days(92))
    expect(await archiveOldest('login_history', { ...young, clock: { now: () => at } })).toBeUndefined()
    expect(await namesOf('login_history')).toContain('login_history_first')
  })
  test('a partition without an end never leaves the store', async () => {
    const far = addMs(now, days(40_000))
    for (;;) if (!(await archive(database, 'login_history', noRules, far))) break
    expect(await listPartitions(database, 'login_history')).toMatchObject([{ upper: null }])
    await execute(
      `INSERT INTO login_history SELECT gen_random_uuid(), portal, biz_id, now() + interval '1 year', '', '', 1, NULL FROM accounts LIMIT 1`,
    )
  })

  describe('ledger', () => {
    let bank: TestBank
    let a: TestWallet
    let b: TestWallet
    const pay = async (at: string): Promise<void> => {
      const transaction = systemIds.next()
      const entry = (id: string, amount: number) =>
        `('${id}', 0, '${systemIds.next()}', '${transaction}', 'USD', ${amount}, 0, 'TRANSFER', ${at})`
      await execute(`INSERT INTO ledger_entries (account_biz_id, sequence, biz_id, transaction_biz_id, currency, amount,
        balance_after, flow_type, created_at) VALUES ${entry(a.id, -100)}, ${entry(b.id, 100)}`)
    }
    beforeAll(async () => {
      bank = await createTestBank(database)
      a = await bank.wallet('USD', '100.00')
      b = await bank.wallet('USD', '100.00')
      await pay('now()')
      await pay(`now() + interval '40 days'`)
      await pay(`now() + interval '400 days'`)
    })

    test('a partition that breaks a rule stays', async () => {
      const shift = async (by: string): Promise<void> => {
        await execute('ALTER TABLE ledger_entries_first DISABLE TRIGGER USER')
        await execute(`UPDATE ledger_entries_first SET balance_after = balance_after ${by} WHERE amount = -100`)
        await execute('ALTER TABLE ledger_entries_first ENABLE TRIGGER USER')
      }
      await shift('+ 1')
      await expect(archive(database, 'ledger_entries', ledgerArchiveRules)).rejects.toThrow('breaks a rule')
      await shift('- 1')
      expect(await namesOf('ledger_entries')).toContain('ledger_entries_first')
    })
    test('the file has every entry, and the check starts with the balances that they left', async () => {
      const archived = await archive(database, 'ledger_entries', ledgerArchiveRules)
      expect(archived).toMatchObject({ name: 'ledger_entries_first' })
      const lines = linesOf(archived?.file ?? '')
      expect(lines).toHaveLength(archived?.rows ?? -1)
      expect(lines.filter(({ account_biz_id }) => account_biz_id === a.id)).toMatchObject([
        { sequence: 1, amount: 10_000, flow_type: 'OPENING' },
        { sequence: 2, amount: -100, balance_after: 9_900 },
      ])
      const text = readFileSync(join(folder, archived?.file ?? ''))
      expect(createHash('sha256').update(text).digest('hex')).toBe(archived?.sha256)
      expect(await namesOf('ledger_entries')).not.toContain('ledger_entries_first')
      expect(await bank.ledger.verifyLedger()).toBeNull()
      expect(await verifyRecentChanges(database, addMs(now, -days(1)))).toBeNull()
      expect(await bank.available(a)).toBe('97.00')
    })
    test('the next partitions continue from there', async () => {
      for (;;) if (!(await archive(database, 'ledger_entries', ledgerArchiveRules))) break
      expect(await bank.ledger.verifyLedger()).toBeNull()
      const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM ledger_entries`.execute(database)
      expect(rows[0]?.n).toBe(2)
    })
    test('a changed archived balance is a discrepancy', async () => {
      await execute(`UPDATE ledger_archived_balances SET balance = balance + 1 WHERE account_biz_id = '${a.id}'`)
      expect(await bank.ledger.verifyLedger()).not.toBeNull()
      await execute(`UPDATE ledger_archived_balances SET balance = balance - 1 WHERE account_biz_id = '${a.id}'`)
      expect(await bank.ledger.verifyLedger()).toBeNull()
    })
    test('the list of flows starts behind the archived ones, in both orders', async () => {
      const list = (sortOrder: 'asc' | 'desc') =>
        bank.ledger.listFlows({ wallet: a.id, workspace: a.workspace, sortOrder, currentPage: 1, pageSize: 5 } as never)
      for (const order of ['asc', 'desc'] as const)
        expect(await list(order)).toMatchObject({ items: [{ sequence: 4 }] })
    })
    test('a balance before the archived entries is refused, a later one is right', async () => {
      const at = (instant: Instant) => bank.ledger.readBalanceAt({ wallet: a.id, workspace: a.workspace }, instant)
      bank.clock.advance(addMs(now, days(399)) - bank.clock.now())
      await expect(at(addMs(now, days(1)))).rejects.toThrow('archived')
      expect((await at(addMs(now, days(100))))?.balance.total.minor).toBe(9_800n)
    })
    test('opening funds that are archived are not posted again', async () => {
      const funds = [{ minor: 500n, currency: 'USD' }]
      const balance = async () =>
        (
          await sql<{ balance: bigint }>`
          SELECT balance FROM ledger_accounts WHERE kind = 'LIQUIDITY' AND currency = 'USD'`.execute(database)
        ).rows
      await bank.ledger.provideFunds('LIQUIDITY', funds)
      await extendPartitions(database, 'ledger_entries', addMs(now, days(420)))
      for (;;) if (!(await archive(database, 'ledger_entries', ledgerArchiveRules, addMs(now, days(900))))) break
      expect(await bank.ledger.verifyLedger()).toBeNull()
      const before = await balance()
      await bank.ledger.provideFunds('LIQUIDITY', funds)
      expect(await balance()).toEqual(before)
    })
  })

  describe('audit', () => {
    const insert = (at: string) =>
      execute(`INSERT INTO audit_log (at, portal, action, outcome, request_id, client_ip)
        VALUES (${at}, 'SYSTEM', 'test.archive', 'SUCCESS', 'r', '')`)

    test('unsealed entries, and entries that the export lacks, stay', async () => {
      await insert('now()')
      await expect(archive(database, 'audit_log', auditArchiveRules(false))).rejects.toThrow('not sealed')
      await sealAuditLog(database)
      await expect(archive(database, 'audit_log', auditArchiveRules(true))).rejects.toThrow('has not sent all')
    })
    test('the chain continues behind the archive, also where two months are sealed out of order', async () => {
      await insert(`now() + interval '40 days'`)
      await sealAuditLog(database)
      // The first attempt has closed the partition.
      await execute('DROP TRIGGER partition_archived ON audit_log_first')
      await insert(`now() + interval '1 minute'`)
      await insert(`now() + interval '400 days'`)
      await sealAuditLog(database)
      const before = await verifyAuditLog(database)
      const archived = await archive(database, 'audit_log', auditArchiveRules(false))
      expect(archived).toMatchObject({ name: 'audit_log_first', rows: 2 })
      expect(await readStart(database)).toMatchObject({ sequence: 1 })
      expect(await verifyAuditLog(database)).toEqual(before)
      const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM audit_archive_links`.execute(database)
      expect(rows[0]?.n).toBe(1)
    })
    test('an entry of the store before the archive is found, also while another table is archived', async () => {
      await execute(`INSERT INTO archived_partitions
        VALUES ('login_history', 'interrupted', now(), 0, 'f', 's', now(), NULL)`)
      await execute('ALTER TABLE audit_archive DISABLE TRIGGER USER')
      const { rows } = await sql<{ head: number }>`SELECT sequence AS head FROM audit_chain`.execute(database)
      const { sequence, hash } = await readStart(database)
      await execute(`UPDATE audit_archive SET sequence = ${rows[0]?.head}, hash = (SELECT hash FROM audit_chain)`)
      expect((await verifyAuditLog(database)).broken).not.toBeNull()
      const before = Buffer.from(hash).toString('hex')
      await execute(`UPDATE audit_archive SET sequence = ${sequence}, hash = decode('${before}', 'hex')`)
      await execute(`UPDATE archived_partitions SET dropped_at = now() WHERE partition_name = 'interrupted'`)
    })
    test('a missing entry behind the archive is found', async () => {
      await execute('ALTER TABLE audit_archive_links DISABLE TRIGGER USER')
      const { rows } = await sql<{ sequence: number }>`DELETE FROM audit_archive_links RETURNING sequence`.execute(
        database,
      )
      expect((await verifyAuditLog(database)).broken).toMatchObject({ sequence: rows[0]?.sequence, reason: 'missing' })
    })
  })

  test('an interrupted run is finished by the next one', async () => {
    await extendPartitions(database, 'login_history', addMs(now, days(600)))
    const [first] = (await listPartitions(database, 'login_history')).toSorted((x, y) =>
      (x.lower ?? '') < (y.lower ?? '') ? -1 : 1,
    )
    const at = addMs(now, days(40_000))
    const rules: ArchiveRules = {
      ...noRules,
      record: async () => {
        throw new Error('interrupted')
      },
    }
    const file = join(folder, `${first?.name}.jsonl`)
    writeFileSync(file, 'the archive of another deployment')
    await expect(archive(database, 'login_history', rules, at)).rejects.toThrow('exists with other content')
    expect(readFileSync(file, 'utf8')).toBe('the archive of another deployment')
    rmSync(file)
    await expect(archive(database, 'login_history', rules, at)).rejects.toThrow('interrupted')
    await expect(archive(database, 'login_history', rules, at)).rejects.toThrow('interrupted')
    expect(await namesOf('login_history')).toContain(first?.name)
    expect(existsSync(join(folder, `${first?.name}.jsonl`))).toBe(true)
    await execute(
      `INSERT INTO archived_partitions VALUES ('login_history', '${first?.name}', now(), 0, 'f', 's', now(), NULL)`,
    )
    await detachPartition(database, 'login_history', first?.name ?? '')
    await archive(database, 'login_history', noRules, at)
    const left = await sql`SELECT FROM pg_class WHERE relname = ${first?.name}`.execute(database)
    expect(left.rows).toHaveLength(0)
  })
})
