import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemIds } from '../../src/platform/system/index.ts'
import { type Book, createBook, type TestWallet } from './book.ts'
import { everyStore } from './stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** SQL that goes round the code: each statement is refused, and the book still adds up. */
describe.each(stores)('raw SQL on $name', ({ database }) => {
  let book: Book
  let a: TestWallet
  let b: TestWallet
  beforeAll(async () => {
    book = await createBook(database)
    a = await book.wallet('USD', '100.00')
    b = await book.wallet('USD', '100.00')
  })

  const refused = async (text: string, pattern: RegExp): Promise<void> => {
    await expect(sql.raw(text).execute(database)).rejects.toThrow(pattern)
    expect(await book.ledger.verifyBook()).toBeNull()
    expect([await book.available(a), await book.available(b)]).toEqual(['100.00', '100.00'])
  }

  const entries = (...rows: [wallet: string, amount: string, currency?: string][]): string => {
    const transaction = systemIds.next()
    const values = rows.map(
      ([wallet, amount, currency = 'USD']) =>
        `('${wallet}', '${systemIds.next()}', '${transaction}', '${currency}', ${amount}, 'TRANSFER', '2026-04-01Z')`,
    )
    return `INSERT INTO ledger_entries
      (account_biz_id, biz_id, transaction_biz_id, currency, amount, flow_type, created_at) VALUES ${values.join()}`
  }

  test('an entry alone is refused', () => refused(entries([a.id, '-1']), /is off by -1 USD/))
  test('entries that do not sum to nothing are refused', () =>
    refused(entries([a.id, '-100'], [b.id, '101']), /is off by 1 USD/))
  test('an entry in another currency than its account is refused', () =>
    refused(entries([a.id, '-1', 'EUR'], [b.id, '1', 'EUR']), /no account/))
  test('an entry of no account is refused', () => refused(entries([systemIds.next(), '-1'], [b.id, '1']), /no account/))
  test('NaN is refused', () => refused(entries([a.id, "'NaN'"], [b.id, "'NaN'"]), /minor_units/))
  test('infinity is refused', () => refused(entries([a.id, "'-Infinity'"], [b.id, "'Infinity'"]), /minor_units/))
  test('a fraction is refused and not rounded', () => refused(entries([a.id, '-0.4'], [b.id, '0.4']), /minor_units/))
  test('decimal places are refused even when they are zero', () =>
    refused(entries([a.id, '-1.00'], [b.id, '1.00']), /minor_units/))
  test('a number beyond 38 digits is refused', () =>
    refused(entries([a.id, `-1${'0'.repeat(38)}`], [b.id, `1${'0'.repeat(38)}`]), /minor_units/))
  test('an entry of nothing is refused', () => refused(entries([a.id, '0']), /amount_check/))
  test('more than there is cannot leave', () =>
    refused(entries([a.id, '-10001'], [b.id, '10001']), /ledger_accounts_available/))
  test('an entry before the account’s last one is refused', () =>
    refused(entries([a.id, '-1'], [b.id, '1']).replaceAll('2026-04', '2020-04'), /takes an entry at/))
  test('ON CONFLICT DO NOTHING leaves no effect without its row', () =>
    refused(`${entries([a.id, '-1'])} ON CONFLICT DO NOTHING`, /is off by/))

  test('a balance cannot be set', () =>
    refused(`UPDATE ledger_accounts SET balance = balance + 1 WHERE biz_id = '${a.id}'`, /follows its entries/))
  test('held funds cannot be set', () =>
    refused(`UPDATE ledger_accounts SET held = 1 WHERE biz_id = '${a.id}'`, /follows its entries/))
  test('a sequence cannot be set', () =>
    refused(`UPDATE ledger_accounts SET sequence = 9 WHERE biz_id = '${a.id}'`, /follows its entries/))
  test('an account cannot change its currency', () =>
    refused(`UPDATE ledger_accounts SET currency = 'EUR' WHERE biz_id = '${a.id}'`, /cannot become another/))
  test('an account cannot move to another workspace', () =>
    refused(`UPDATE ledger_accounts SET workspace_biz_id = '${b.workspace}' WHERE biz_id = '${a.id}'`, /cannot become/))
  test('an account with money cannot be closed', () =>
    refused(`UPDATE ledger_accounts SET status = 'CLOSED' WHERE biz_id = '${a.id}'`, /closed_empty/))
  test('an account cannot be opened with money', () =>
    refused(
      `INSERT INTO ledger_accounts (biz_id, workspace_biz_id, kind, currency, balance, created_at, updated_at)
       VALUES ('${systemIds.next()}', '${a.workspace}', 'WALLET', 'USD', 5, now(), now())`,
      /must start empty/,
    ))

  test.each(['ledger_entries', 'ledger_accounts', 'orders', 'ledger_holds'])('%s cannot be emptied', async (table) => {
    await refused(`DELETE FROM ${table}`, /append-only/)
    await refused(`TRUNCATE ${table} CASCADE`, /append-only/)
  })
  test('an entry cannot be changed', () => refused('UPDATE ledger_entries SET amount = amount', /append-only/))

  test('a hold beyond what is available is refused', async () => {
    const order = await pending()
    await refused(hold(order, '10001'), /ledger_accounts_available/)
  })

  test('a hold ends once', async () => {
    const order = await pending()
    await sql.raw(hold(order, '10000')).execute(database)
    expect(await book.available(a)).toBe('0.00')
    const end = (status: string) =>
      `UPDATE ledger_holds SET status = '${status}', ended_at = '2026-05-01Z' WHERE order_biz_id = '${order}'`
    await sql.raw(end('RELEASED')).execute(database)
    await refused(end('RELEASED'), /ends once/)
    await refused(end('CAPTURED'), /ends once/)
    await refused(`UPDATE ledger_holds SET amount = 1 WHERE order_biz_id = '${order}'`, /ends once/)
  })

  test('an order that has ended stays so', async () => {
    const order = await pending('FAILED')
    await refused(
      `UPDATE orders SET status = 'COMPLETED', version = version + 1 WHERE biz_id = '${order}'`,
      /has ended as FAILED/,
    )
  })

  test('an order stands where its history ends, and what happened to it stays', async () => {
    const order = await pending()
    const change = (what: string) => `UPDATE orders SET ${what}, version = version + 1 WHERE biz_id = '${order}'`
    await refused(change(`status = 'PROCESSING'`), /orders_history/)
    await refused(
      change(`status = 'PROCESSING', history = '${stepTo('PROCESSING')}'`),
      /history of order .* append-only/,
    )
    await refused(change(`history = '[]'`), /append-only/)
    await refused('DELETE FROM order_status_history', /order_status_history/)
  })

  test('an order takes only the statuses of its type', async () => {
    await expect(pending('CANCELLED')).rejects.toThrow(/orders_status/)
  })

  const hold = (order: string, amount: string): string =>
    `INSERT INTO ledger_holds (workspace_biz_id, biz_id, account_biz_id, order_biz_id, amount, status, created_at)
     VALUES ('${a.workspace}', '${systemIds.next()}', '${a.id}', '${order}', ${amount}, 'HELD', '2026-04-01Z')`

  const stepTo = (status: string): string =>
    JSON.stringify([{ status, at: '2026-04-01T00:00:00.000Z', actorBizId: null, reason: null }])

  const pending = async (status = 'PENDING_APPROVAL'): Promise<string> => {
    const id = systemIds.next()
    await sql
      .raw(
        `INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
         VALUES ('${a.workspace}', '${id}', 'TRANSFER', '${id}', '${status}', '{}', '${stepTo(status)}', now(), now())`,
      )
      .execute(database)
    return id
  }
})
