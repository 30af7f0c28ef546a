import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuditQuery, listAuditLog } from '../../../src/banking/operators/store.ts'
import {
  createTransfer,
  listAllTransfers,
  listPendingTransfers,
  listTransfers,
  listWalletTransfers,
} from '../../../src/banking/transfers/contract.ts'
import { toIso } from '../../../src/kernel/index.ts'
import { createLedger, type OrderQuery } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { plansOf, rowsRead } from '../../harness/rows-read.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { types } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const manyOrders = 20_000
const clientReference = 'INV-7'

describe.each(stores)('references of transfers on $name', ({ database }) => {
  let bank: TestBank
  let sender: TestWallet
  let recipient: TestWallet
  let sent: { bizId: string; orderNo: string }
  const maker = systemIds.next<'account'>()

  beforeAll(async () => {
    bank = await createTestBank(database, { approvalThreshold: { USD: '50' } })
    sender = await bank.wallet('USD', '1000.00')
    recipient = await bank.wallet('USD')
    sent = await transfer('1.00')
  })

  const transfer = (amount: string) => {
    const body = { sourceWalletBizId: sender.id, targetWalletBizId: recipient.id, amount, currency: 'USD' }
    return bank.call(createTransfer, {
      as: maker,
      workspace: sender.workspace,
      body: { ...body, clientReference },
    })
  }
  const findAs = async ({ workspace, id }: TestWallet, query: Record<string, string>) => {
    const request = { as: maker, workspace, query }
    const lists = [
      await bank.call(listTransfers, request),
      await bank.call(listTransfers, { ...request, query: { ...query, walletId: id } }),
      await bank.call(listWalletTransfers, { ...request, params: { wallet_id: id } }),
    ]
    return lists.map(({ items, pagination }) => [items.map(({ bizId }) => bizId), pagination.totalRecords])
  }

  test('transfers.list 200: the recipient finds a transfer by orderNo, not by the sender’s reference', async () => {
    const [found, none] = [
      [[sent.bizId], 1],
      [[], 0],
    ]
    expect(await findAs(sender, { orderNo: sent.orderNo })).toEqual([found, found, found])
    expect(await findAs(recipient, { orderNo: sent.orderNo })).toEqual([found, found, found])
    expect(await findAs(sender, { clientReference })).toEqual([found, found, found])
    expect(await findAs(recipient, { clientReference })).toEqual([none, none, none])
    const stranger = await bank.wallet('USD')
    expect((await findAs(stranger, { orderNo: sent.orderNo }))[0]).toEqual(none)
    expect((await findAs(stranger, { clientReference }))[0]).toEqual(none)
  })

  test('transfers.listPending 200: an operator finds a pending transfer by orderNo and clientReference', async () => {
    const { bizId, orderNo } = await transfer('60.00')
    const find = async (query: Record<string, string>) =>
      (await bank.call(listPendingTransfers, { as: maker, query })).items.map((order) => order.bizId)
    expect(await find({ orderNo })).toEqual([bizId])
    expect(await find({ clientReference, workspaceId: sender.workspace })).toEqual([bizId])
    expect(await find({ clientReference, workspaceId: recipient.workspace })).toEqual([bizId])
    expect(await find({ orderNo: sent.orderNo })).toEqual([])
  })

  test('transfers.listAll 200: an operator finds any transfer, by both workspaces and both references', async () => {
    const { bizId, orderNo } = await transfer('61.00')
    const find = async (query: Record<string, string>) =>
      (await bank.call(listAllTransfers, { as: maker, query })).items.map((order) => order.bizId)
    const [kind, other] = [{ workspaceKind: 'LIVE' }, { workspaceKind: 'SANDBOX' }]
    expect(await find({ orderNo: sent.orderNo })).toEqual([sent.bizId])
    expect(await find({ orderNo, ...kind })).toEqual([bizId])
    expect(await find({ orderNo, ...other })).toEqual([])
    for (const { workspace, id } of [sender, recipient]) {
      for (const filter of [{ workspaceId: workspace }, { walletId: id }, { workspaceId: workspace, walletId: id }]) {
        expect(await find({ clientReference, ...filter })).toEqual(expect.arrayContaining([bizId, sent.bizId]))
        expect(await find({ orderNo, transferStatus: 'PENDING_APPROVAL', ...filter })).toEqual([bizId])
        expect(await find({ orderNo, transferStatus: 'COMPLETED', ...filter })).toEqual([])
      }
    }
    expect(await find({ clientReference, workspaceId: (await bank.wallet('USD')).workspace })).toEqual([])
    const { items } = await bank.call(listAllTransfers, { as: maker, query: { orderNo } })
    expect(items[0]).toMatchObject({ clientReference, workspaceStatus: { code: 'ACTIVE' }, creatorStatus: null })
  })

  test('transfers.listAll 200: a cursor reads each transfer once', async () => {
    const all = await bank.call(listAllTransfers, { as: maker, query: { pageSize: '100' } })
    const read: string[] = []
    for (let before: string | null = 'start'; before !== null; ) {
      const page: { items: { bizId: string }[]; nextCursor?: string | null | undefined } = await bank.call(
        listAllTransfers,
        {
          as: maker,
          query: { before, pageSize: '1' },
        },
      )
      read.push(...page.items.map(({ bizId }) => bizId))
      before = page.nextCursor ?? null
    }
    expect(read.length).toBeGreaterThan(1)
    expect(read).toEqual(all.items.map(({ bizId }) => bizId))
  })

  test('lists by reference: read one of many orders or entries by index', async () => {
    const step = { status: 'COMPLETED', at: toIso(bank.clock.now()), actorBizId: null, reason: null }
    const history = JSON.stringify([step])
    await database.transaction().execute(async (tx) => {
      await sql`SET LOCAL session_replication_role = replica`.execute(tx)
      await sql`
        INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, source_wallet_biz_id,
          target_wallet_biz_id, data, history, created_at, updated_at)
        SELECT ${sender.workspace}::uuid, gen_random_uuid(), t.type, t.prefix || n, 'COMPLETED', ${sender.id}::uuid,
          ${recipient.id}::uuid,
          CASE t.type WHEN 'EXCHANGE' THEN '{}' ELSE jsonb_build_object(
            'clientReference', 'C-' || n, 'externalReference', 'E-' || n, 'referenceKey', 'E' || n) END,
          ${history}::jsonb,
          now() + n * interval '1 second', now() + n * interval '1 second'
          FROM generate_series(1, ${manyOrders}::int) AS n,
               (VALUES ('TRANSFER', 'TRF-'), ('RECHARGE', 'RCH-'), ('EXCHANGE', 'EXC-')) t (type, prefix)`.execute(tx)
    })
    await database.transaction().execute(async (tx) => {
      await sql`INSERT INTO audit_log (at, portal, action, target_biz_id, outcome, request_id, client_ip)
        SELECT created_at, 'CONSUMER', 'test', biz_id::text, 'SUCCESS', 'R-' || order_no, '' FROM orders`.execute(tx)
    })
    await sql`ANALYZE`.execute(database)
    const page = { currentPage: 1, pageSize: 20, sortOrder: 'desc', sortBy: 'createdAt' } as const
    const member = { ...page, type: 'TRANSFER', workspace: sender.workspace } as const
    const operator = { ...page, type: 'RECHARGE', workspace: null } as const
    const queries: [index: string, query: OrderQuery][] = [
      ['orders_number', { ...member, orderNo: 'TRF-77' }],
      ['orders_client_reference', { ...member, clientReference: 'C-77' }],
      ['orders_number', { ...operator, orderNo: 'RCH-77' }],
      ['orders_external_reference', { ...operator, externalReference: 'E-77' }],
      ['orders_external_reference', { ...operator, workspace: sender.workspace, externalReference: 'E-77' }],
      ['orders_reference_key', { ...operator, externalReference: 'e\u00a077' }],
      ['orders_reference_key', { ...operator, workspace: sender.workspace, externalReference: 'e 7-7' }],
    ]
    for (const [index, query] of queries) {
      const list = (watched: typeof database) =>
        createLedger({ database: watched, clock: bank.clock, ids: systemIds, types }).listOrders(query)
      const { items } = await list(database)
      expect(items.length, index).toBe(1)
      expect((await rowsRead(database, list))('orders'), index).toBeLessThan(20)
      const plans = await plansOf(database, list)
      expect(plans).toContain(index)
      // Without statistics, PostgreSQL expects many orders, and would read a large table in the order of the list.
      expect(plans, index).not.toContain('Bitmap')
    }
    const logQueries: [index: string, query: Partial<AuditQuery>][] = [
      ['audit_log_target', { orderNo: 'TRF-77' }],
      ['audit_log_target', { clientReference: 'C-77' }],
      ['audit_log_target', { externalReference: 'E-77' }],
      ['audit_log_target', { externalReference: 'e 7\u00a07' }],
      ['audit_log_request', { requestId: 'R-TRF-77' }],
    ]
    for (const [index, query] of logQueries) {
      const list = (watched: typeof database) => listAuditLog(watched, { ...page, ...query })
      expect((await list(database)).items.length, index).toBe((query.orderNo ?? query.requestId) ? 1 : 2)
      const read = await rowsRead(database, list)
      expect([read('orders') < 20, read('audit_log') < 10], JSON.stringify(query)).toEqual([true, true])
      expect(await plansOf(database, list)).toContain(index)
    }
    for (const [type, sortBy] of [
      ['TRANSFER', 'createdAt'],
      ['EXCHANGE', 'createdAt'],
      ['EXCHANGE', 'updatedAt'],
    ] as const) {
      const list = (watched: typeof database) =>
        createLedger({ database: watched, clock: bank.clock, ids: systemIds, types }).readOrders({
          ...page,
          type,
          sortBy,
          workspace: null,
        })
      expect((await list(database)).length).toBe(20)
      expect((await rowsRead(database, list))('orders'), sortBy).toBeLessThan(100)
    }
  })
})
