import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../stores.ts'
import { createTestBank } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** A rollback does not undo `nextval`. */
describe.each(stores)('retries after a conflict on $name', ({ database }) => {
  const countAttempts = async (): Promise<number> => {
    const { rows } = await sql<{ tries: number }>`SELECT last_value - 1 AS tries FROM tries`.execute(database)
    return Number(rows[0]?.tries)
  }
  const failInserts = async (state: string, times: number): Promise<void> => {
    await sql.raw('ALTER SEQUENCE tries RESTART WITH 2').execute(database)
    await sql
      .raw(
        `CREATE OR REPLACE FUNCTION fail_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF nextval('tries') - 1 <= ${times} THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '${state}'; END IF;
           RETURN NEW;
         END $$`,
      )
      .execute(database)
  }
  beforeEach(async () => {
    await sql.raw('CREATE SEQUENCE IF NOT EXISTS tries').execute(database)
    await failInserts('40001', 0)
    await sql.raw('DROP TRIGGER IF EXISTS fail_insert ON orders').execute(database)
    await sql
      .raw('CREATE TRIGGER fail_insert BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fail_insert()')
      .execute(database)
  })

  const createSender = async () => {
    const bank = await createTestBank(database)
    const [a, b] = [await bank.wallet('USD', '10.00'), await bank.wallet('USD')]
    const as = systemIds.next<'account'>()
    const body = { sourceWalletBizId: a.id, targetWalletBizId: b.id, amount: '1.00', currency: 'USD' }
    const send = () => bank.call(createTransfer, { as, workspace: a.workspace, requestId: 'retried', body })
    return { send, left: () => bank.available(a) }
  }

  test.each(['40001', '40P01'])('%s: retried and executed once', async (state) => {
    const { send, left } = await createSender()
    await failInserts(state, 4)
    const order = await send()
    expect(order.transferStatus.code).toBe('COMPLETED')
    expect([await countAttempts(), await left()]).toEqual([5, '9.00'])
    expect(await send()).toEqual(order)
  })

  test('fails after five attempts without effect; the same request can be sent again', async () => {
    const { send, left } = await createSender()
    await failInserts('40001', 5)
    await expect(send()).rejects.toThrow('conflict')
    expect([await countAttempts(), await left()]).toEqual([5, '10.00'])
    expect((await send()).transferStatus.code).toBe('COMPLETED')
  })

  test('other errors are not retried', async () => {
    const { send } = await createSender()
    await failInserts('23514', 1)
    await expect(send()).rejects.toThrow('conflict')
    expect(await countAttempts()).toBe(1)
  })

  test('inTransaction: repeats the whole transaction', async () => {
    const conflict = sql.raw(`DO $$ BEGIN
      IF nextval('tries') - 1 <= 2 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40P01'; END IF; END $$`)
    let starts = 0
    await inTransaction(database, async (tx) => {
      starts += 1
      await conflict.execute(tx)
    })
    expect(starts).toBe(3)
  })
})
