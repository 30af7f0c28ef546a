import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { createTransfer } from '../../../src/domains/transfers/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../stores.ts'
import { createTestBank } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** A sequence counts the tries: what it has counted stays counted, although the try itself is rolled back. */
describe.each(stores)('a race that the database gives up, on $name', ({ database }) => {
  const tries = async (): Promise<number> => {
    const { rows } = await sql<{ tries: number }>`SELECT last_value - 1 AS tries FROM tries`.execute(database)
    return Number(rows[0]?.tries)
  }
  /** Every order is refused so often; then it is let through. */
  const refuse = async (state: string, times: number): Promise<void> => {
    await sql.raw('ALTER SEQUENCE tries RESTART WITH 2').execute(database)
    await sql
      .raw(
        `CREATE OR REPLACE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF nextval('tries') - 1 <= ${times} THEN RAISE EXCEPTION 'given up' USING ERRCODE = '${state}'; END IF;
           RETURN NEW;
         END $$`,
      )
      .execute(database)
  }
  beforeEach(async () => {
    await sql.raw('CREATE SEQUENCE IF NOT EXISTS tries').execute(database)
    await refuse('40001', 0)
    await sql.raw('DROP TRIGGER IF EXISTS give_up ON orders').execute(database)
    await sql
      .raw('CREATE TRIGGER give_up BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION give_up()')
      .execute(database)
  })

  const sending = async () => {
    const bank = await createTestBank(database)
    const [a, b] = [await bank.wallet('USD', '10.00'), await bank.wallet('USD')]
    const as = systemIds.next<'account'>()
    const body = { sourceWalletBizId: a.id, targetWalletBizId: b.id, amount: '1.00', currency: 'USD' }
    const send = () => bank.call(createTransfer, { as, workspace: a.workspace, requestId: 'again', body })
    return { send, left: () => bank.available(a) }
  }

  test.each(['40001', '40P01'])('%s is tried again, and happens once', async (state) => {
    const { send, left } = await sending()
    await refuse(state, 4)
    const order = await send()
    expect(order.transferStatus.code).toBe('COMPLETED')
    expect([await tries(), await left()]).toEqual([5, '9.00'])
    expect(await send()).toEqual(order)
  })

  test('it is given up after five tries, with nothing done; the same request may come again', async () => {
    const { send, left } = await sending()
    await refuse('40001', 5)
    await expect(send()).rejects.toThrow('given up')
    expect([await tries(), await left()]).toEqual([5, '10.00'])
    expect((await send()).transferStatus.code).toBe('COMPLETED')
  })

  test('what is no lost race is not tried again', async () => {
    const { send } = await sending()
    await refuse('23514', 1)
    await expect(send()).rejects.toThrow('given up')
    expect(await tries()).toBe(1)
  })

  test('a transaction around it is run again from its start', async () => {
    const race = sql.raw(`DO $$ BEGIN
      IF nextval('tries') - 1 <= 2 THEN RAISE EXCEPTION 'given up' USING ERRCODE = '40P01'; END IF; END $$`)
    let starts = 0
    await inTransaction(database, async (tx) => {
      starts += 1
      await race.execute(tx)
    })
    expect(starts).toBe(3)
  })
})
