import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/transfers/contract.ts'
import { hours } from '../../../src/kernel/index.ts'
import { executePosting } from '../../../src/ledger/commands/execute-store.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { refusalOf, types } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('transfers on $name', ({ database }) => {
  let bank: TestBank
  beforeAll(async () => {
    bank = await createTestBank(database)
  })

  const transfer = (from: TestWallet, to: { id: string }, amount: string, more: object = {}, requestId?: string) =>
    bank.call(contract.createTransfer, {
      as: sender,
      workspace: from.workspace,
      body: { sourceWalletBizId: from.id, targetWalletBizId: to.id, amount, currency: from.currency, ...more },
      ...(requestId ? { requestId } : {}),
    })
  const sender = systemIds.next<'account'>()

  test('transfers.create 200: moves the funds and returns the completed order', async () => {
    const a = await bank.wallet('USD', '100.00')
    const b = await bank.wallet('USD')
    const order = await transfer(a, b, '12.5', { remark: 'rent', clientReference: 'ref-1' }, 'the-first')
    expect(order).toMatchObject({
      version: 1,
      workspaceBizId: a.workspace,
      sourceWalletBizId: a.id,
      targetWalletBizId: b.id,
      amount: '12.50',
      currency: 'USD',
      feeAmount: '0.00',
      remark: 'rent',
      clientReference: 'ref-1',
      transferStatus: { code: 'COMPLETED', value: 10090203 },
      failureCode: null,
      completedAt: '2026-03-01T09:00:00.000Z',
      createdAt: '2026-03-01T09:00:00.000Z',
    })
    expect(order.orderNo).toMatch(/^TRF-20260301-[0-9A-Z]{12}$/)
    expect(order.statusHistory.map((step) => [step.status.code, step.actorBizId])).toEqual([
      ['PROCESSING', sender],
      ['COMPLETED', sender],
    ])
    expect([await bank.available(a), await bank.available(b)]).toEqual(['87.50', '12.50'])
    const audited = await database.selectFrom('audit_log').where('targetBizId', '=', order.bizId).selectAll().execute()
    expect(audited).toMatchObject([
      {
        ...{ portal: 'CONSUMER', action: 'transfers.create', actorBizId: sender, workspaceBizId: a.workspace },
        ...{ outcome: 'SUCCESS', requestId: 'the-first', clientIp: '203.0.113.7', detail: {} },
      },
    ])
  })

  test('transfers.create 422 WALLET.INSUFFICIENT_FUNDS: stores no order', async () => {
    const a = await bank.wallet('USD', '1.00')
    const b = await bank.wallet('USD')
    expect(await refusalOf(transfer(a, b, '1.01'))).toBe('WALLET.INSUFFICIENT_FUNDS')
    const list = await bank.call(contract.listTransfers, { as: sender, workspace: a.workspace })
    expect(list.pagination).toMatchObject({ totalRecords: 0, empty: true, paginated: true })
    await transfer(a, b, '1.00')
    expect(await bank.available(a)).toBe('0.00')
  })

  test('transfers.create 404 RESOURCE.NOT_FOUND: unknown wallet, wallet of another workspace, house account', async () => {
    const a = await bank.wallet('USD', '5.00')
    const b = await bank.wallet('USD', '5.00')
    const unknown = { ...a, id: systemIds.next<'wallet'>() }
    expect(await refusalOf(transfer(unknown, b, '1'))).toBe('RESOURCE.NOT_FOUND')
    expect(await refusalOf(transfer({ ...b, workspace: a.workspace }, a, '1'))).toBe('RESOURCE.NOT_FOUND')
    expect(await refusalOf(transfer(a, unknown, '1'))).toBe('RESOURCE.NOT_FOUND')
    const { bizId: house } = await database
      .selectFrom('ledger_accounts')
      .where('kind', '=', 'CLEARING')
      .where('currency', '=', 'USD')
      .select('bizId')
      .executeTakeFirstOrThrow()
    expect(await refusalOf(transfer(a, { id: house }, '1'))).toBe('RESOURCE.NOT_FOUND')
  })

  test('transfers.create 404 RESOURCE.NOT_FOUND: between a sandbox and a live workspace', async () => {
    const live = await bank.wallet('USD', '5.00')
    const play = await bank.wallet('USD', '5.00', await bank.workspace('SANDBOX'))
    expect(await refusalOf(transfer(live, play, '1'))).toBe('RESOURCE.NOT_FOUND')
    expect(await refusalOf(transfer(play, live, '1'))).toBe('RESOURCE.NOT_FOUND')
    const other = await bank.wallet('USD', undefined, await bank.workspace('SANDBOX'))
    expect(await refusalOf(transfer(play, other, '1'))).toBe('none')
  })

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: the same wallet, in upper case too', async () => {
    const a = await bank.wallet('USD', '5.00')
    const sameWallet = { code: 'VALIDATION.INVALID_PARAMETER', detail: { field: 'targetWalletBizId' } }
    await expect(transfer(a, { id: a.id.toUpperCase() }, '1')).rejects.toMatchObject(sameWallet)
  })

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: another currency than that of a wallet', async () => {
    const a = await bank.wallet('USD', '5.00')
    const b = await bank.wallet('EUR')
    const mismatch = { code: 'VALIDATION.INVALID_PARAMETER', detail: { field: 'currency' } }
    await expect(transfer(a, b, '1')).rejects.toMatchObject(mismatch)
    await expect(transfer(a, b, '1', { currency: 'EUR' })).rejects.toMatchObject(mismatch)
  })

  test('transfers.create 422 WALLET.NOT_ACTIVE: from or to a frozen wallet', async () => {
    const a = await bank.wallet('USD', '5.00')
    const b = await bank.wallet('USD', '5.00')
    await bank.ledger.changeWalletStatus({ wallet: a.id, from: 'ACTIVE', to: 'FROZEN', at: bank.clock.now() })
    expect(await refusalOf(transfer(a, b, '1'))).toBe('WALLET.NOT_ACTIVE')
    expect(await refusalOf(transfer(b, a, '1'))).toBe('WALLET.NOT_ACTIVE')
  })

  test('transfers.create 422 WALLET.NOT_ACTIVE: to a closed wallet', async () => {
    const a = await bank.wallet('USD', '5.00')
    const b = await bank.wallet('USD')
    await bank.ledger.changeWalletStatus({ wallet: b.id, from: 'ACTIVE', to: 'CLOSED', at: bank.clock.now() })
    expect(await refusalOf(transfer(a, b, '1'))).toBe('WALLET.NOT_ACTIVE')
  })

  test('transfers.read 200: the recipient does not see the sender’s notes and actors; others get 404', async () => {
    const a = await bank.wallet('USD', '5.00')
    const b = await bank.wallet('USD')
    const unrelated = await bank.wallet('USD')
    const order = await transfer(a, b, '1', { remark: 'hello', clientReference: 'mine' })
    const read = (workspace: TestWallet['workspace'], order_id: string = order.bizId) =>
      bank.call(contract.readTransfer, { as: sender, workspace, params: { order_id } })
    expect(await read(a.workspace)).toEqual(order)
    const received = await read(b.workspace)
    expect(received).toMatchObject({ remark: 'hello', clientReference: null, amount: '1.00' })
    expect(received.statusHistory.map((step) => step.actorBizId)).toEqual([null, null])
    expect(await refusalOf(read(unrelated.workspace))).toBe('RESOURCE.NOT_FOUND')
    expect(await refusalOf(read(a.workspace, systemIds.next()))).toBe('RESOURCE.NOT_FOUND')
    expect(await refusalOf(read(a.workspace, "' OR 1=1"))).toBe('RESOURCE.NOT_FOUND')
    const completed = (workspace: TestWallet['workspace']) =>
      bank.call(contract.isTransferCompleted, { as: sender, workspace, params: { order_id: order.bizId } })
    expect(await completed(b.workspace)).toBe(true)
    expect(await refusalOf(completed(unrelated.workspace))).toBe('RESOURCE.NOT_FOUND')
  })

  test('transfers.list 200: builds the JSON of the orders on its page only', async () => {
    const a = await bank.wallet('USD', '6.00')
    const b = await bank.wallet('USD')
    const created: string[] = []
    for (const amount of ['1', '2', '3']) {
      created.push((await transfer(a, b, amount)).bizId)
      bank.clock.advance(1_000)
    }
    const rolledBack = new Error('rolled back')
    const listing = database.transaction().execute(async (tx) => {
      await sql`ALTER FUNCTION order_json(orders) RENAME TO original_order_json`.execute(tx)
      await sql`CREATE FUNCTION order_json(o orders) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
        BEGIN
          IF o.biz_id = ${sql.lit(created[2])} THEN RAISE EXCEPTION 'order outside the page'; END IF;
          RETURN original_order_json(o);
        END $$`.execute(tx)
      const query = { type: 'TRANSFER', workspace: a.workspace, sortBy: 'createdAt', sortOrder: 'desc' } as const
      const { items, pagination } = await bank.ledger.within(tx).listOrders({ ...query, currentPage: 2, pageSize: 1 })
      expect(items.map((order) => order.bizId)).toEqual([created[1]])
      expect(pagination).toMatchObject({ totalRecords: 3, currentPage: 2, hasNext: true })
      throw rolledBack
    })
    await expect(listing).rejects.toBe(rolledBack)
  })

  test('transfers.list 200: pages, filters and sorting within the workspace', async () => {
    const a = await bank.wallet('USD', '50.00')
    const second = await bank.wallet('USD', '50.00', a.workspace)
    const b = await bank.wallet('USD', '50.00')
    const created: string[] = []
    for (const [from, to] of [
      [a, b],
      [second, b],
      [b, a],
      [a, second],
    ] as const) {
      created.push((await transfer(from, to, '1')).bizId)
      bank.clock.advance(1_000)
    }
    const list = async (query: Record<string, string>) => {
      const page = await bank.call(contract.listTransfers, { as: sender, workspace: a.workspace, query })
      return [page.items.map((order) => created.indexOf(order.bizId)), page.pagination.totalRecords]
    }
    expect(await list({})).toEqual([[3, 2, 1, 0], 4])
    expect(await list({ sortOrder: 'asc', pageSize: '3', currentPage: '2' })).toEqual([[3], 4])
    expect(await list({ walletId: second.id })).toEqual([[3, 1], 2])
    expect(await list({ transferStatus: 'FAILED' })).toEqual([[], 0])
    const third = (
      await database
        .selectFrom('orders')
        .where('bizId', '=', created[2] as never)
        .select('createdAt')
        .executeTakeFirstOrThrow()
    ).createdAt
    const startTime = new Date(third).toISOString()
    expect(await list({ startTime })).toEqual([[3, 2], 2])
    expect(await list({ endTime: startTime })).toEqual([[2, 1, 0], 3])

    const ofWallet = async (wallet_id: string) => {
      const page = await bank.call(contract.listWalletTransfers, {
        as: sender,
        workspace: a.workspace,
        params: { wallet_id },
      })
      return [page.items.map((order) => created.indexOf(order.bizId)), page.pagination.paginated]
    }
    expect(await ofWallet(second.id)).toEqual([[3, 1], true])
    for (const unknown of [b.id, systemIds.next()]) expect(await ofWallet(unknown)).toEqual([[], false])
    expect(await refusalOf(ofWallet('no-id'))).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('transfers.create 200: a clock that was set back does not reorder orders', async () => {
    const a = await bank.wallet('USD', '5.00')
    const b = await bank.wallet('USD', '5.00')
    const first = await transfer(a, b, '1')
    bank.clock.advance(-hours(1))
    const second = await transfer(b, a, '1')
    expect(Date.parse(second.createdAt)).toBeGreaterThanOrEqual(Date.parse(first.createdAt))
    bank.clock.advance(hours(1))
  })

  test('one command can debit what it credits', async () => {
    const [a, b] = [await bank.wallet('USD', '5.00'), await bank.wallet('USD')]
    const party = { currency: 'USD', active: true, currencyField: 'currency' }
    await executePosting(
      { database, clock: bank.clock, ids: systemIds, types },
      {
        actor: null,
        parties: [
          { ...party, label: 'a', wallet: a.id, workspace: a.workspace },
          { ...party, label: 'b', wallet: b.id, workspace: b.workspace },
        ],
        entries: [
          { account: 'b', amount: -500n, flowType: 'TRANSFER' },
          { account: 'a', amount: 500n, flowType: 'TRANSFER' },
          { account: 'a', amount: -500n, flowType: 'TRANSFER' },
          { account: 'b', amount: 500n, flowType: 'TRANSFER' },
        ],
      },
    )
    expect([await bank.available(a), await bank.available(b)]).toEqual(['5.00', '0.00'])
  })

  test('transfers.create 200: charges the fee on top of the amount', async () => {
    const feeBank = await createTestBank(database, { fixedFee: { EUR: '0.25' } })
    const a = await feeBank.wallet('EUR', '10.00')
    const b = await feeBank.wallet('EUR')
    const body = { sourceWalletBizId: a.id, targetWalletBizId: b.id, currency: 'EUR' }
    const request = { as: sender, workspace: a.workspace }
    const beyond = feeBank.call(contract.createTransfer, { ...request, body: { ...body, amount: '9.76' } })
    expect(await refusalOf(beyond)).toBe('WALLET.INSUFFICIENT_FUNDS')
    const order = await feeBank.call(contract.createTransfer, { ...request, body: { ...body, amount: '9.75' } })
    expect(order.feeAmount).toBe('0.25')
    expect([await feeBank.available(a), await feeBank.available(b)]).toEqual(['0.00', '9.75'])
    const tooMuch = feeBank.call(contract.createTransfer, { ...request, body: { ...body, amount: '0.01' } })
    expect(await refusalOf(tooMuch)).toBe('WALLET.INSUFFICIENT_FUNDS')
    expect(await feeBank.ledger.verifyLedger()).toBeNull()
  })

  test('the ledger is consistent', async () => {
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })
})
