import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** The database rejects SQL that bypasses the code. */
describe.each(stores)('raw SQL on $name', ({ database }) => {
  let bank: TestBank
  let a: TestWallet
  let b: TestWallet
  beforeAll(async () => {
    bank = await createTestBank(database)
    a = await bank.wallet('USD', '100.00')
    b = await bank.wallet('USD', '100.00')
  })

  const expectRejected = async (text: string, pattern: RegExp): Promise<void> => {
    await expect(sql.raw(text).execute(database)).rejects.toThrow(pattern)
    expect(await bank.ledger.verifyLedger()).toBeNull()
    expect([await bank.available(a), await bank.available(b)]).toEqual(['100.00', '100.00'])
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

  test('rejects a single entry', () => expectRejected(entries([a.id, '-1']), /sum to -1 USD/))
  test('rejects entries that do not sum to zero', () =>
    expectRejected(entries([a.id, '-100'], [b.id, '101']), /sum to 1 USD/))
  test('rejects entries that sum to zero only across currencies', async () => {
    const euro = await bank.wallet('EUR', '1.00')
    await expectRejected(entries([a.id, '-1'], [euro.id, '1', 'EUR']), /sum to -?1 (USD|EUR)/)
  })
  test('rejects entries that sum to zero only across transactions', () => {
    const [debit, credit] = [entries([a.id, '-1']), entries([b.id, '1'])]
    return expectRejected(`${debit}, ${credit.slice(credit.indexOf('VALUES') + 'VALUES'.length)}`, /sum to -?1 USD/)
  })
  test('rejects an entry in another currency than its account', () =>
    expectRejected(entries([a.id, '-1', 'EUR'], [b.id, '1', 'EUR']), /no account/))
  test('rejects an entry of an unknown account', () =>
    expectRejected(entries([systemIds.next(), '-1'], [b.id, '1']), /no account/))
  test('rejects NaN', () => expectRejected(entries([a.id, "'NaN'"], [b.id, "'NaN'"]), /minor_units/))
  test('rejects infinity', () => expectRejected(entries([a.id, "'-Infinity'"], [b.id, "'Infinity'"]), /minor_units/))
  test('rejects a fraction instead of rounding it', () =>
    expectRejected(entries([a.id, '-0.4'], [b.id, '0.4']), /minor_units/))
  test('rejects decimal places, even zeros', () =>
    expectRejected(entries([a.id, '-1.00'], [b.id, '1.00']), /minor_units/))
  test('rejects an amount with more than 38 digits', () =>
    expectRejected(entries([a.id, `-1${'0'.repeat(38)}`], [b.id, `1${'0'.repeat(38)}`]), /minor_units/))
  test('rejects an entry of zero', () => expectRejected(entries([a.id, '0']), /amount_check/))
  test('rejects an entry that exceeds the available funds', () =>
    expectRejected(entries([a.id, '-10001'], [b.id, '10001']), /ledger_accounts_available/))
  test('rejects an entry before the last one of its account', () =>
    expectRejected(entries([a.id, '-1'], [b.id, '1']).replaceAll('2026-04', '2020-04'), /its last entry is later than/))
  test('ON CONFLICT DO NOTHING has no effect without its row', () =>
    expectRejected(`${entries([a.id, '-1'])} ON CONFLICT DO NOTHING`, /sum to/))

  test('rejects an update of a balance', () =>
    expectRejected(
      `UPDATE ledger_accounts SET balance = balance + 1 WHERE biz_id = '${a.id}'`,
      /change only by entries/,
    ))
  test('rejects an update of held funds', () =>
    expectRejected(`UPDATE ledger_accounts SET held = 1 WHERE biz_id = '${a.id}'`, /change only by entries/))
  test('rejects an update of a sequence', () =>
    expectRejected(`UPDATE ledger_accounts SET sequence = 9 WHERE biz_id = '${a.id}'`, /change only by entries/))
  test('rejects another currency of an account', () =>
    expectRejected(
      `UPDATE ledger_accounts SET currency = 'EUR' WHERE biz_id = '${a.id}'`,
      /identity of account .* cannot change/,
    ))
  test('rejects another workspace of an account', () =>
    expectRejected(
      `UPDATE ledger_accounts SET workspace_biz_id = '${b.workspace}' WHERE biz_id = '${a.id}'`,
      /identity of account .* cannot change/,
    ))
  test('rejects closing an account with funds', () =>
    expectRejected(`UPDATE ledger_accounts SET status = 'CLOSED' WHERE biz_id = '${a.id}'`, /closed_empty/))
  const openAccount = (kind: string, workspace: string | null, amounts: Record<string, string> = {}): string => {
    const owner = workspace === null ? 'NULL' : `'${workspace}'`
    const [columns, values] = [Object.keys(amounts), Object.values(amounts)]
    return `INSERT INTO ledger_accounts
      (${['biz_id, workspace_biz_id, kind, currency, created_at, updated_at', ...columns].join()})
      VALUES (${[`'${systemIds.next()}', ${owner}, '${kind}', 'USD', now(), now()`, ...values].join()})`
  }

  test.each(['balance', 'held', 'sequence', 'version'])('rejects a new account with a %s', (column) =>
    expectRejected(openAccount('WALLET', a.workspace, { [column]: '5' }), /must start empty/),
  )
  test('rejects a new account with a last entry', () =>
    expectRejected(openAccount('WALLET', a.workspace, { last_entry_at: 'now()' }), /must start empty/))
  test('rejects a wallet without a workspace, a house account of a workspace, and other kinds', async () => {
    await expectRejected(openAccount('WALLET', null), /invalid kind or owner of account: WALLET/)
    for (const kind of ['LIQUIDITY', 'FEE', 'SUSPENSE'])
      await expectRejected(openAccount(kind, a.workspace), new RegExp(`invalid kind or owner of account: ${kind}`))
  })
  test('rejects a second house account of a kind and currency', () =>
    expectRejected(openAccount('LIQUIDITY', null), /ledger_accounts_house/))
  test('rejects reopening a closed account', async () => {
    const { id } = await bank.wallet('USD')
    await sql.raw(`UPDATE ledger_accounts SET status = 'CLOSED' WHERE biz_id = '${id}'`).execute(database)
    for (const status of ['ACTIVE', 'FROZEN'])
      await expectRejected(`UPDATE ledger_accounts SET status = '${status}' WHERE biz_id = '${id}'`, /is closed/)
  })
  test('rejects a second default wallet of a currency', async () => {
    const second = await bank.wallet('USD', undefined, a.workspace)
    await expectRejected(`UPDATE wallets SET is_default = true WHERE biz_id = '${second.id}'`, /wallets_one_default/)
  })

  test.each(['ledger_entries', 'ledger_accounts', 'orders', 'ledger_holds'])(
    'rejects DELETE and TRUNCATE on %s',
    async (table) => {
      await expectRejected(`DELETE FROM ${table}`, /append-only/)
      await expectRejected(`TRUNCATE ${table} CASCADE`, /append-only/)
    },
  )
  test('rejects an update of an entry', () =>
    expectRejected('UPDATE ledger_entries SET amount = amount', /append-only/))

  test('rejects a hold that exceeds the available funds', async () => {
    const order = await pending()
    await expectRejected(hold(order, '10001'), /ledger_accounts_available/)
  })

  test('rejects a hold of zero or less', async () => {
    const order = await pending()
    for (const amount of ['0', '-1']) await expectRejected(hold(order, amount), /amount_check/)
  })

  test('rejects a hold on an unknown account and on one of another workspace', async () => {
    const order = await pending()
    for (const account of [systemIds.next(), b.id])
      await expectRejected(hold(order, '1').replace(a.id, account), /no account .* of the workspace for a hold/)
  })

  test('a hold starts as HELD and ends at or after its creation', async () => {
    const order = await pending()
    await expectRejected(hold(order, '1').replace('HELD', 'CAPTURED'), /must start HELD/)
    await sql.raw(hold(order, '1')).execute(database)
    const change = (assignment: string) => `UPDATE ledger_holds SET ${assignment} WHERE order_biz_id = '${order}'`
    const expectUnchanged = async (assignment: string, pattern: RegExp) => {
      await expect(sql.raw(change(assignment)).execute(database)).rejects.toThrow(pattern)
      expect([await bank.available(a), await bank.ledger.verifyLedger()]).toEqual(['99.99', null])
    }
    await expectUnchanged(`status = 'RELEASED'`, /ledger_holds_check/)
    await expectUnchanged(`status = 'RELEASED', ended_at = '2020-01-01Z'`, /ledger_holds_check/)
    await expectUnchanged('status = status', /can only end, and only once/)
    await expectUnchanged(`status = 'RELEASED', ended_at = '2026-05-01Z', amount = 2`, /can only end, and only once/)
    await sql.raw(change(`status = 'RELEASED', ended_at = '2026-05-01Z'`)).execute(database)
    expect(await bank.available(a)).toBe('100.00')
  })

  test('rejects the second end of a hold', async () => {
    const order = await pending()
    await sql.raw(hold(order, '10000')).execute(database)
    expect(await bank.available(a)).toBe('0.00')
    const end = (status: string) =>
      `UPDATE ledger_holds SET status = '${status}', ended_at = '2026-05-01Z' WHERE order_biz_id = '${order}'`
    await sql.raw(end('RELEASED')).execute(database)
    await expectRejected(end('RELEASED'), /can only end, and only once/)
    await expectRejected(end('CAPTURED'), /can only end, and only once/)
    await expectRejected(
      `UPDATE ledger_holds SET amount = 1 WHERE order_biz_id = '${order}'`,
      /can only end, and only once/,
    )
  })

  test('rejects another status of an order that has ended', async () => {
    const order = await pending('FAILED')
    await expectRejected(
      `UPDATE orders SET status = 'COMPLETED', version = version + 1 WHERE biz_id = '${order}'`,
      /has ended as FAILED/,
    )
  })

  test('rejects a change of an order’s identity and a skipped version', async () => {
    const order = await pending()
    const change = (assignment: string) => `UPDATE orders SET ${assignment} WHERE biz_id = '${order}'`
    for (const assignment of [
      `workspace_biz_id = '${b.workspace}'`,
      `counterparty_workspace_biz_id = '${b.workspace}'`,
      `order_type = 'WITHDRAWAL'`,
      `order_no = 'another'`,
      `source_wallet_biz_id = '${b.id}'`,
      `target_wallet_biz_id = '${b.id}'`,
      `created_by = '${systemIds.next()}'`,
      `created_at = '2020-01-01Z'`,
    ])
      await expectRejected(change(`${assignment}, version = version + 1`), /identity of order .* cannot change/)
    for (const version of ['version', 'version + 2', 'version - 1'])
      await expectRejected(change(`version = ${version}`), /identity of order .* cannot change/)
  })

  test('rejects an order between a sandbox and a live workspace', async () => {
    const sandbox = await bank.workspace('SANDBOX')
    const insertOrder = (from: string, to: string) =>
      `INSERT INTO orders (workspace_biz_id, counterparty_workspace_biz_id, biz_id, order_type, order_no, status, data,
         history, created_at, updated_at)
       VALUES ('${from}', '${to}', '${systemIds.next()}', 'TRANSFER', '${systemIds.next()}', 'PROCESSING', '{}',
         '${stepTo('PROCESSING')}', now(), now())`
    await expectRejected(insertOrder(sandbox, a.workspace), /between a sandbox and a live workspace/)
    await expectRejected(insertOrder(a.workspace, sandbox), /between a sandbox and a live workspace/)
    await sql.raw(insertOrder(a.workspace, b.workspace)).execute(database)
  })

  test('rejects a second order with the same number in a workspace', async () => {
    const order = await pending()
    await expectRejected(
      `INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
       SELECT workspace_biz_id, gen_random_uuid(), order_type, order_no, status, data, history, created_at, updated_at
         FROM orders WHERE biz_id = '${order}'`,
      /orders_number/,
    )
  })

  test('rejects a status other than the last in the history, and changes of the history', async () => {
    const order = await pending()
    const change = (assignment: string) =>
      `UPDATE orders SET ${assignment}, version = version + 1 WHERE biz_id = '${order}'`
    await expectRejected(change(`status = 'PROCESSING'`), /orders_history/)
    await expectRejected(
      change(`status = 'PROCESSING', history = '${stepTo('PROCESSING')}'`),
      /history of order .* append-only/,
    )
    await expectRejected(change(`history = '[]'`), /append-only/)
  })

  test('rejects a status of another order type', async () => {
    await expect(pending('CANCELLED')).rejects.toThrow(
      'no domain declares an order type TRANSFER with the status CANCELLED',
    )
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
