import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** SQL that goes round the code: each statement is refused, and the book still adds up. */
describe.each(stores)('raw SQL on $name', ({ database }) => {
  let bank: TestBank
  let a: TestWallet
  let b: TestWallet
  beforeAll(async () => {
    bank = await createTestBank(database)
    a = await bank.wallet('USD', '100.00')
    b = await bank.wallet('USD', '100.00')
  })

  const refused = async (text: string, pattern: RegExp): Promise<void> => {
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

  test('an entry alone is refused', () => refused(entries([a.id, '-1']), /is off by -1 USD/))
  test('entries that do not sum to nothing are refused', () =>
    refused(entries([a.id, '-100'], [b.id, '101']), /is off by 1 USD/))
  test('entries of two currencies that sum to nothing together are refused', async () => {
    const euro = await bank.wallet('EUR', '1.00')
    await refused(entries([a.id, '-1'], [euro.id, '1', 'EUR']), /is off by -?1 (USD|EUR)/)
  })
  test('entries of two transactions that sum to nothing together are refused', () => {
    const [gone, come] = [entries([a.id, '-1']), entries([b.id, '1'])]
    return refused(`${gone}, ${come.slice(come.indexOf('VALUES') + 'VALUES'.length)}`, /is off by -?1 USD/)
  })
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
  const opening = (kind: string, workspace: string | null, money: Record<string, string> = {}): string => {
    const owner = workspace === null ? 'NULL' : `'${workspace}'`
    const [columns, values] = [Object.keys(money), Object.values(money)]
    return `INSERT INTO ledger_accounts
      (${['biz_id, workspace_biz_id, kind, currency, created_at, updated_at', ...columns].join()})
      VALUES (${[`'${systemIds.next()}', ${owner}, '${kind}', 'USD', now(), now()`, ...values].join()})`
  }

  test.each(['balance', 'held', 'sequence', 'version'])('an account cannot be opened with its %s', (column) =>
    refused(opening('WALLET', a.workspace, { [column]: '5' }), /must start empty/),
  )
  test('an account cannot be opened with a last entry', () =>
    refused(opening('WALLET', a.workspace, { last_entry_at: 'now()' }), /must start empty/))
  test('a wallet of nobody cannot be opened, nor an account of the house for a workspace, nor one of another kind', async () => {
    await refused(opening('WALLET', null), /no account of kind WALLET for its owner/)
    for (const kind of ['LIQUIDITY', 'FEE', 'SUSPENSE'])
      await refused(opening(kind, a.workspace), new RegExp(`no account of kind ${kind} for its owner`))
  })
  test('the house has one account of a kind in a currency', () =>
    refused(opening('LIQUIDITY', null), /ledger_accounts_house/))
  test('an account that is closed stays so', async () => {
    const { id } = await bank.wallet('USD')
    await sql.raw(`UPDATE ledger_accounts SET status = 'CLOSED' WHERE biz_id = '${id}'`).execute(database)
    for (const status of ['ACTIVE', 'FROZEN'])
      await refused(`UPDATE ledger_accounts SET status = '${status}' WHERE biz_id = '${id}'`, /is closed/)
  })
  test('a workspace has one default wallet for a currency', async () => {
    const second = await bank.wallet('USD', undefined, a.workspace)
    await refused(`UPDATE wallets SET is_default = true WHERE biz_id = '${second.id}'`, /wallets_one_default/)
  })

  test.each(['ledger_entries', 'ledger_accounts', 'orders', 'ledger_holds'])('%s cannot be emptied', async (table) => {
    await refused(`DELETE FROM ${table}`, /append-only/)
    await refused(`TRUNCATE ${table} CASCADE`, /append-only/)
  })
  test('an entry cannot be changed', () => refused('UPDATE ledger_entries SET amount = amount', /append-only/))

  test('a hold beyond what is available is refused', async () => {
    const order = await pending()
    await refused(hold(order, '10001'), /ledger_accounts_available/)
  })

  test('a hold of nothing, or of less, is refused', async () => {
    const order = await pending()
    for (const amount of ['0', '-1']) await refused(hold(order, amount), /amount_check/)
  })

  test('a hold of no account is refused, and one of another workspace’s', async () => {
    const order = await pending()
    for (const account of [systemIds.next(), b.id])
      await refused(hold(order, '1').replace(a.id, account), /no account .* to hold funds of/)
  })

  test('a hold begins as one that is open, and ends at a time that is not before it', async () => {
    const order = await pending()
    await refused(hold(order, '1').replace('HELD', 'CAPTURED'), /must start HELD/)
    await sql.raw(hold(order, '1')).execute(database)
    const change = (what: string) => `UPDATE ledger_holds SET ${what} WHERE order_biz_id = '${order}'`
    const stays = async (what: string, pattern: RegExp) => {
      await expect(sql.raw(change(what)).execute(database)).rejects.toThrow(pattern)
      expect([await bank.available(a), await bank.ledger.verifyLedger()]).toEqual(['99.99', null])
    }
    await stays(`status = 'RELEASED'`, /ledger_holds_check/)
    await stays(`status = 'RELEASED', ended_at = '2020-01-01Z'`, /ledger_holds_check/)
    await stays('status = status', /ends once/)
    await stays(`status = 'RELEASED', ended_at = '2026-05-01Z', amount = 2`, /ends once/)
    await sql.raw(change(`status = 'RELEASED', ended_at = '2026-05-01Z'`)).execute(database)
    expect(await bank.available(a)).toBe('100.00')
  })

  test('a hold ends once', async () => {
    const order = await pending()
    await sql.raw(hold(order, '10000')).execute(database)
    expect(await bank.available(a)).toBe('0.00')
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

  test('an order cannot become another one, nor skip a version', async () => {
    const order = await pending()
    const change = (what: string) => `UPDATE orders SET ${what} WHERE biz_id = '${order}'`
    for (const what of [
      `workspace_biz_id = '${b.workspace}'`,
      `counterparty_workspace_biz_id = '${b.workspace}'`,
      `order_type = 'WITHDRAWAL'`,
      `order_no = 'another'`,
      `source_wallet_biz_id = '${b.id}'`,
      `target_wallet_biz_id = '${b.id}'`,
      `created_by = '${systemIds.next()}'`,
      `created_at = '2020-01-01Z'`,
    ])
      await refused(change(`${what}, version = version + 1`), /cannot become another/)
    for (const version of ['version', 'version + 2', 'version - 1'])
      await refused(change(`version = ${version}`), /cannot become another/)
  })

  test('an order does not lead from a sandbox to a live workspace, nor back', async () => {
    const play = await bank.workspace('SANDBOX')
    const leading = (from: string, to: string) =>
      `INSERT INTO orders (workspace_biz_id, counterparty_workspace_biz_id, biz_id, order_type, order_no, status, data,
         history, created_at, updated_at)
       VALUES ('${from}', '${to}', '${systemIds.next()}', 'TRANSFER', '${systemIds.next()}', 'PROCESSING', '{}',
         '${stepTo('PROCESSING')}', now(), now())`
    await refused(leading(play, a.workspace), /from a sandbox to a live workspace/)
    await refused(leading(a.workspace, play), /from a sandbox to a live workspace/)
    await sql.raw(leading(a.workspace, b.workspace)).execute(database)
  })

  test('two orders of a workspace have not one number', async () => {
    const order = await pending()
    await refused(
      `INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
       SELECT workspace_biz_id, gen_random_uuid(), order_type, order_no, status, data, history, created_at, updated_at
         FROM orders WHERE biz_id = '${order}'`,
      /order_no/,
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
