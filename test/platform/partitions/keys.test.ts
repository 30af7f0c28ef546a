import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseInstant } from '../../../src/kernel/index.ts'
import { insertAuditEntry, sealAuditLog } from '../../../src/platform/audit/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** In two partitions. */
const early = '2020-01-01Z'
const late = '2120-01-01Z'

/** A unique index covers one partition. These are the guarantees over several. */
describe.each(stores)('keys of partitions on $name', ({ database }) => {
  const execute = (text: string) => sql.raw(text).execute(database)
  const count = async (text: string): Promise<number> =>
    (await sql<{ n: number }>`SELECT count(*) AS n FROM ${sql.raw(text)}`.execute(database)).rows[0]?.n ?? -1
  const tailOf = async (table: string): Promise<string> => {
    const { rows } = await sql<{ name: string }>`SELECT name FROM partition_tail(${table}::regclass)`.execute(database)
    return rows[0]?.name ?? ''
  }

  describe('ledger_entries', () => {
    let bank: TestBank
    let a: TestWallet
    let b: TestWallet
    beforeAll(async () => {
      bank = await createTestBank(database)
      a = await bank.wallet('USD', '100.00')
      b = await bank.wallet('USD', '100.00')
    })
    const insert = (at: string, into = 'ledger_entries', second = 1) => {
      const rows = [`'${a.id}', 1, `, `'${b.id}', 1, `].map(
        (start, index) =>
          `(${start}'${systemIds.next()}', '018f0000-0000-7000-8000-000000000001', 'USD', ${index === 0 ? -1 : second}, 0, 'TRANSFER', '${at}')`,
      )
      return execute(`INSERT INTO ${into} (account_biz_id, sequence, biz_id, transaction_biz_id, currency, amount,
        balance_after, flow_type, created_at) VALUES ${rows.join()}`)
    }

    test('a number of another partition is not taken: the trigger counts on', async () => {
      await insert(late)
      expect(await count(`ledger_entries WHERE account_biz_id = '${a.id}'`)).toBe(2)
      expect(await count(`ledger_entries WHERE account_biz_id = '${a.id}' AND sequence = 1`)).toBe(1)
      expect(await count(await tailOf('ledger_entries'))).toBe(2)
    })
    test('an entry in an earlier partition than the last one is refused', () =>
      expect(insert(early)).rejects.toThrow('its last entry is later'))
    test('the number of an account cannot decrease', () =>
      expect(execute(`UPDATE ledger_accounts SET sequence = 0 WHERE biz_id = '${a.id}'`)).rejects.toThrow(
        'only by entries',
      ))
    test('an entry cannot enter the partition itself without its counter-entry', async () =>
      expect(insert(late, await tailOf('ledger_entries'), 2)).rejects.toThrow('sum to 1 USD'))
    test.each([
      ['UPDATE', (name: string) => `UPDATE ${name} SET amount = 2`],
      ['DELETE', (name: string) => `DELETE FROM ${name}`],
      ['TRUNCATE', (name: string) => `TRUNCATE ${name}`],
    ])('%s is refused on the table and on each partition', async (_, statement) => {
      for (const name of ['ledger_entries', 'ledger_entries_first', await tailOf('ledger_entries')])
        await expect(execute(statement(name)), name).rejects.toThrow('append-only')
    })
    test('the ledger is consistent over partitions', async () => {
      expect(await bank.ledger.verifyLedger()).toBeNull()
    })
  })

  describe('events', () => {
    const workspace = systemIds.next()
    const insert = (position: number, id: string, place: number | null) =>
      execute(`INSERT INTO events VALUES (${position}, '${id}', 'x', '${early}', 's',
        ${place === null ? 'NULL, NULL' : `'${workspace}', ${place}`}, true, '{}')`)
    const far = 900_000_000_000
    const id = systemIds.next()
    beforeAll(() => insert(1, id, 1))

    test('a position', () => expect(insert(1, systemIds.next(), 2)).rejects.toThrow('duplicate key'))
    test('an id in two partitions', () => expect(insert(far, id, null)).rejects.toThrow('twice'))
    test('a position of a workspace in two partitions', () =>
      expect(insert(far, systemIds.next(), 1)).rejects.toThrow('twice'))
    test('others enter the last partition', async () => {
      await insert(far, systemIds.next(), 2)
      expect(await count(await tailOf('events'))).toBe(1)
    })
  })

  describe('login_history', () => {
    const insert = (id: string, at: string) =>
      execute(`INSERT INTO login_history SELECT '${id}', portal, biz_id, '${at}', '::1', '', 1, NULL
        FROM accounts LIMIT 1`)
    const id = systemIds.next()
    beforeAll(async () => {
      const account = `INSERT INTO accounts (biz_id, portal, institution_biz_id, account_status, email, email_canonical,
        account_name, default_language, default_timezone, default_country, created_at, updated_at) VALUES ('${systemIds.next()}',
        'CONSUMER', '${systemIds.next()}', 'ACTIVE', 'a@b.example', 'a@b.example', 'A', 'en', 'UTC', 'DE', now(), now())`
      await execute(account)
      await insert(id, early)
    })

    test('an id in two partitions', () => expect(insert(id, late)).rejects.toThrow('is in the history'))
    test('an id that is inserted into two partitions at the same time', async () => {
      const both = systemIds.next()
      const results = await Promise.allSettled([insert(both, early), insert(both, late)])
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    })
    test('an unknown account, in every partition', () =>
      expect(
        execute(`INSERT INTO login_history VALUES ('${systemIds.next()}', 'CONSUMER', '${systemIds.next()}', '${late}',
          '::1', '', 1, NULL)`),
      ).rejects.toThrow('login_history_account_biz_id_fkey'))
  })

  describe('audit_log', () => {
    const insert = (id: string, at: string) =>
      execute(`INSERT INTO audit_log (biz_id, at, portal, action, outcome, request_id, client_ip)
        VALUES ('${id}', '${at}', 'SYSTEM', 'test.keys', 'SUCCESS', 'r', '')`)
    const seal = (at: string, sequence: number) =>
      execute(`UPDATE audit_log SET sequence = ${sequence}, hash = '\\x00', previous_hash = '\\x00'
        WHERE action = 'test.keys' AND at = '${at}' AND sequence IS NULL`)
    const head = () => count(`generate_series(1, (SELECT sequence FROM audit_chain))`)

    test('an id: no statement can choose one', async () => {
      const id = systemIds.next()
      await insert(id, early)
      await insert(id, late)
      expect(await count(`audit_log WHERE biz_id = '${id}'`)).toBe(0)
      expect(await count(`(SELECT DISTINCT biz_id FROM audit_log WHERE action = 'test.keys') AS ids`)).toBe(2)
    })
    test('a number that the chain has passed', async () => {
      await sealAuditLog(database)
      await insert(systemIds.next(), late)
      await expect(seal(late, await head())).rejects.toThrow('append-only: UPDATE refused')
    })
    test('a number in two partitions cannot enter the chain', async () => {
      await sealAuditLog(database)
      const next = (await head()) + 1
      const twice = database.transaction().execute(async (tx) => {
        for (const at of [early, late]) {
          await sql
            .raw(`INSERT INTO audit_log (at, portal, action, outcome, request_id, client_ip)
              VALUES ('${at}', 'SYSTEM', 'test.keys', 'SUCCESS', 'r', '')`)
            .execute(tx)
          await sql
            .raw(`UPDATE audit_log SET sequence = ${next}, hash = '\\x00', previous_hash = '\\x00'
              WHERE action = 'test.keys' AND at = '${at}' AND sequence IS NULL`)
            .execute(tx)
        }
        await sql`UPDATE audit_chain SET sequence = ${next}`.execute(tx)
      })
      await expect(twice).rejects.toThrow('of its head refused')
    })
    test.each([
      ['DELETE', (name: string) => `DELETE FROM ${name}`],
      ['TRUNCATE', (name: string) => `TRUNCATE ${name}`],
    ])('%s is refused on the table and on each partition', async (_, statement) => {
      for (const name of ['audit_log', 'audit_log_first', await tailOf('audit_log')])
        await expect(execute(statement(name)), name).rejects.toThrow('append-only')
    })
    test('entries of different partitions are one chain', async () => {
      const at = parseInstant('2020-01-01T00:00:00Z')
      if (at === undefined) throw new Error('no instant')
      await insertAuditEntry(database, {
        ...{ at, portal: 'SYSTEM', actorId: null, workspaceId: null, action: 'test.chain', targetId: null },
        ...{ outcome: 'SUCCESS', requestId: 'r', clientIp: '', detail: {} },
      })
      expect(await sealAuditLog(database)).toBe(1)
    })
  })
})
