import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOrderSource } from '../../../src/banking/exports/order-source.ts'

import * as contract from '../../../src/banking/transfers/contract.ts'
import { bizId as bizIdOf, type Instant, toIso, type WorkspaceId } from '../../../src/kernel/index.ts'
import type { OrderType } from '../../../src/ledger/contract.ts'
import type { Party } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { callerOf, outgoingOf, refusalOf } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('approval of transfers on $name', ({ database }) => {
  let bank: TestBank
  const maker = systemIds.next<'account'>()
  const checker = systemIds.next<'account'>()
  beforeAll(async () => {
    bank = await createTestBank(database, { approvalThreshold: { USD: '50' }, fixedFee: { USD: '1' } })
  })

  const pair = async (funds: string): Promise<[TestWallet, TestWallet]> => [
    await bank.wallet('USD', funds),
    await bank.wallet('USD'),
  ]
  const transfer = ([a, b]: [TestWallet, TestWallet], amount: string) =>
    bank.call(contract.createTransfer, {
      as: maker,
      workspace: a.workspace,
      body: { sourceWalletBizId: a.id, targetWalletBizId: b.id, amount, currency: 'USD' },
    })
  const approve = (order_id: string, as = checker, requestId?: string) =>
    bank.call(contract.approveTransfer, { as, params: { order_id }, ...(requestId ? { requestId } : {}) })
  const reject = (order_id: string, as = checker) =>
    bank.call(contract.rejectTransfer, { as, params: { order_id }, body: { reason: 'looks wrong' } })

  test('transfers.create 200: completes a transfer below the threshold', async () => {
    expect((await transfer(await pair('60.00'), '49.99')).transferStatus.code).toBe('COMPLETED')
  })

  test('transfers.create 200: holds amount and fee from the threshold on', async () => {
    const wallets = await pair('60.00')
    const order = await transfer(wallets, '50.00')
    expect(order).toMatchObject({ transferStatus: { code: 'PENDING_APPROVAL' }, completedAt: null })
    const balance = await bank.ledger.readBalance({ wallet: wallets[0].id, workspace: wallets[0].workspace })
    expect(balance).toMatchObject({ total: { minor: 6000n }, held: { minor: 5100n }, available: { minor: 900n } })
    expect(await refusalOf(transfer(wallets, '9.00'))).toBe('WALLET.INSUFFICIENT_FUNDS')
    const pending = await bank.call(contract.listPendingTransfers, { as: checker })
    expect(pending.items.map((one) => one.bizId)).toContain(order.bizId)
  })

  test('transfers.approve 200: captures the hold once', async () => {
    const wallets = await pair('51.00')
    const { bizId } = await transfer(wallets, '50.00')
    bank.clock.advance(1_000)
    const approved = await approve(bizId, checker, 'approval-1')
    const updatedAt = toIso(bank.clock.now())
    expect(approved).toMatchObject({ version: 2, updatedAt, transferStatus: { code: 'COMPLETED' } })
    expect(approved.statusHistory.map((step) => [step.status.code, step.actorBizId])).toEqual([
      ['PENDING_APPROVAL', maker],
      ['PROCESSING', checker],
      ['COMPLETED', checker],
    ])
    expect(await bank.available(wallets[1])).toBe('50.00')
    expect(await approve(bizId, checker, 'approval-1')).toEqual(approved)
    expect(await refusalOf(approve(bizId))).toBe('STATE.CONFLICT')
    expect(await refusalOf(reject(bizId))).toBe('STATE.CONFLICT')
    expect(await bank.available(wallets[1])).toBe('50.00')
  })

  test('transfers.reject 200: releases the funds, also those of a frozen wallet', async () => {
    const wallets = await pair('51.00')
    const { bizId } = await transfer(wallets, '50.00')
    await bank.ledger.changeWalletStatus({ wallet: wallets[0].id, from: 'ACTIVE', to: 'FROZEN', at: bank.clock.now() })
    expect(await refusalOf(approve(bizId))).toBe('WALLET.NOT_ACTIVE')
    const rejected = await reject(bizId)
    expect(rejected).toMatchObject({ transferStatus: { code: 'FAILED' }, failureCode: 'APPROVAL_REJECTED' })
    expect(rejected.statusHistory.at(-1)).toMatchObject({ actorBizId: checker, reason: 'looks wrong' })
    expect(await bank.available(wallets[0])).toBe('51.00')
    expect(await refusalOf(reject(bizId))).toBe('STATE.CONFLICT')
  })

  const setStatus = (workspace: WorkspaceId, workspaceStatus: 'ACTIVE' | 'FROZEN') =>
    database.updateTable('workspaces').set({ workspaceStatus }).where('bizId', '=', workspace).execute()

  test('transfers.approve 409 STATE.CONFLICT: the sending or the receiving workspace is frozen', async () => {
    const wallets = await pair('51.00')
    const { bizId } = await transfer(wallets, '50.00')
    for (const { workspace } of wallets) {
      await setStatus(workspace, 'FROZEN')
      expect(await refusalOf(approve(bizId))).toBe('STATE.CONFLICT')
      await setStatus(workspace, 'ACTIVE')
    }
    expect((await approve(bizId)).transferStatus.code).toBe('COMPLETED')
  })

  test('transfers.create 422 WALLET.NOT_ACTIVE: the receiving workspace is frozen', async () => {
    const wallets = await pair('60.00')
    await setStatus(wallets[1].workspace, 'FROZEN')
    for (const amount of ['1.00', '50.00']) expect(await refusalOf(transfer(wallets, amount))).toBe('WALLET.NOT_ACTIVE')
    expect(await bank.available(wallets[0])).toBe('60.00')
    await setStatus(wallets[1].workspace, 'ACTIVE')
    expect(await refusalOf(transfer(wallets, '1.00'))).toBe('none')
  })

  test('transfers.approve 409 STATE.CONFLICT: waits for a concurrent freeze of the receiving workspace', async () => {
    const wallets = await pair('51.00')
    const { bizId } = await transfer(wallets, '50.00')
    let approved: Promise<string> = Promise.resolve('')
    await database.transaction().execute(async (tx) => {
      const target = tx.updateTable('workspaces').where('bizId', '=', wallets[1].workspace)
      await target.set({ workspaceStatus: 'FROZEN' }).execute()
      approved = refusalOf(approve(bizId))
      await pause(100)
    })
    expect(await approved).toBe('STATE.CONFLICT')
  })

  const exported = async (workspace: WorkspaceId, asOf: Instant | null): Promise<unknown[]> => {
    const all = { walletId: undefined, status: undefined, data: {}, from: undefined, to: undefined }
    const filters = { ...all, workspace, asOf, now: bank.clock.now() }
    const rows = await Array.fromAsync(createOrderSource(bank.ledger, contract.transfers, filters, 10).rows)
    return rows.map((row) => row.bizId)
  }

  test('transfers.read 404, transfers.list 200: the recipient sees a transfer only once it is completed', async () => {
    const [source, target] = await pair('102.00')
    const approved = await transfer([source, target], '50.00')
    const rejected = await transfer([source, target], '50.00')
    const visibleTo = async ({ id: wallet_id, workspace }: TestWallet) => {
      const lists = [
        await bank.call(contract.listTransfers, { as: maker, workspace }),
        await bank.call(contract.listTransfers, { as: maker, workspace, query: { walletId: wallet_id } }),
        await bank.call(contract.listWalletTransfers, { as: maker, workspace, params: { wallet_id } }),
      ]
      return [...lists.map(({ items }) => items.map((one) => one.bizId)), await exported(workspace, null)]
    }
    const read = (order_id: string) =>
      refusalOf(bank.call(contract.readTransfer, { as: maker, workspace: target.workspace, params: { order_id } }))
    const readCompleted = (order_id: string) =>
      refusalOf(
        bank.call(contract.isTransferCompleted, { as: maker, workspace: target.workspace, params: { order_id } }),
      )

    expect(await visibleTo(target)).toEqual([[], [], [], []])
    for (const { bizId } of [approved, rejected])
      expect([await read(bizId), await readCompleted(bizId)]).toEqual(['RESOURCE.NOT_FOUND', 'RESOURCE.NOT_FOUND'])
    const query = { workspaceId: target.workspace }
    const pending = await bank.call(contract.listPendingTransfers, { as: checker, query })
    expect(pending.items.map((one) => one.bizId).toSorted()).toEqual([approved.bizId, rejected.bizId].toSorted())

    const before = bank.clock.now()
    bank.clock.advance(1_000)
    await approve(approved.bizId)
    await reject(rejected.bizId)
    expect(await visibleTo(target)).toEqual([[approved.bizId], [approved.bizId], [approved.bizId], [approved.bizId]])
    expect([await read(approved.bizId), await readCompleted(approved.bizId)]).toEqual(['none', 'none'])
    expect([await read(rejected.bizId), await readCompleted(rejected.bizId)]).toEqual([
      'RESOURCE.NOT_FOUND',
      'RESOURCE.NOT_FOUND',
    ])
    expect(await exported(target.workspace, before)).toEqual([])
    for (const list of await visibleTo(source)) expect(list).toHaveLength(2)
  })

  test('transfers.approve, reject 403 own transfer, 404 unknown order', async () => {
    const { bizId } = await transfer(await pair('51.00'), '50.00')
    expect(await refusalOf(approve(bizId, maker))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(reject(bizId, maker))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(approve(systemIds.next()))).toBe('RESOURCE.NOT_FOUND')
    expect(await refusalOf(approve('x'))).toBe('RESOURCE.NOT_FOUND')
  })

  const rejection = { expected: ['PENDING_APPROVAL'], steps: [{ status: 'FAILED' }], endHolds: 'RELEASED' } as const

  test('transfers.reject 404: order of another type or of another workspace', async () => {
    const { bizId } = await transfer(await pair('51.00'), '50.00')
    const move = (type: OrderType, workspace: WorkspaceId | null) =>
      refusalOf(
        bank.ledger.execute({
          actor: checker,
          parties: [],
          move: { ...rejection, id: bizIdOf<'order'>(bizId), type, workspace },
        }),
      )
    expect(await move('WITHDRAWAL', null)).toBe('RESOURCE.NOT_FOUND')
    expect(await move('TRANSFER', await bank.workspace())).toBe('RESOURCE.NOT_FOUND')
    expect(await move('TRANSFER', null)).toBe('none')
  })

  test('transfers.reject 409 STATE.CONFLICT: an order without holds', async () => {
    const { bizId } = await transfer(await pair('51.00'), '10.00')
    const repeated = { ...rejection, expected: ['COMPLETED'], steps: [{ status: 'COMPLETED' }] } as const
    const move = { ...repeated, id: bizIdOf<'order'>(bizId), type: 'TRANSFER', workspace: null } as const
    expect(await refusalOf(bank.ledger.execute({ actor: checker, parties: [], move }))).toBe('STATE.CONFLICT')
  })

  test('an order with several holds on a wallet: all of them count and end together', async () => {
    const [{ id: wallet, workspace }, target] = await pair('51.00')
    const wallets: Party[] = [
      { label: 'source', wallet, workspace, currency: 'USD', active: true, currencyField: 'currency' },
      { label: 'target', wallet: target.id, workspace: null, currency: 'USD', active: true, currencyField: 'currency' },
    ]
    const createOrder = (...amounts: bigint[]) =>
      bank.ledger.execute({
        actor: maker,
        parties: wallets,
        create: {
          ...{ workspace, type: 'TRANSFER', data: {}, steps: [{ status: 'PENDING_APPROVAL' }] },
          outgoing: outgoingOf(100n, callerOf(maker), bank.clock.now()),
        },
        holds: amounts.map((amount) => ({ account: 'source', amount })),
      })
    expect(await refusalOf(createOrder(5_000n, 101n))).toBe('WALLET.INSUFFICIENT_FUNDS')
    const { bizId: id } = await createOrder(3_000n, 2_100n)
    await bank.ledger.execute({
      actor: checker,
      parties: wallets,
      move: {
        ...{ id, type: 'TRANSFER', workspace: null, expected: ['PENDING_APPROVAL'] },
        ...{ steps: [{ status: 'COMPLETED' }], endHolds: 'CAPTURED' },
      },
      entries: [
        { account: 'source', amount: -5_100n, flowType: 'TRANSFER' },
        { account: 'target', amount: 5_100n, flowType: 'TRANSFER' },
      ],
    })
    const balance = await bank.ledger.readBalance({ wallet, workspace })
    expect(balance).toMatchObject({ total: { minor: 0n }, held: { minor: 0n } })
  })

  test('transfers.reject 200: after the clock was set back, the order does not end before its creation', async () => {
    const wallets = await pair('51.00')
    bank.clock.advance(1_000)
    const { bizId, createdAt } = await transfer(wallets, '50.00')
    bank.clock.advance(-60_000)
    expect(await reject(bizId)).toMatchObject({ updatedAt: createdAt })
    bank.clock.advance(60_000)
  })

  test('transfers.reject 409 STATE.CONFLICT: waits for a concurrent decision', async () => {
    const wallets = await pair('51.00')
    const { bizId } = await transfer(wallets, '50.00')
    const order = { id: bizIdOf<'order'>(bizId), type: 'TRANSFER', workspace: null } as const
    const concurrent = await database.transaction().execute(async (tx) => {
      const move = { ...order, expected: ['PENDING_APPROVAL'], steps: [{ status: 'PROCESSING' }] } as const
      await bank.ledger.within(tx).execute({ actor: checker, parties: [], move })
      const other = refusalOf(bank.ledger.execute({ actor: checker, parties: [], move: { ...order, ...rejection } }))
      await pause(100)
      return { other }
    })
    expect(await concurrent.other).toBe('STATE.CONFLICT')
    expect(await bank.available(wallets[0])).toBe('0.00')
  })

  test('transfers.approve, reject: one of several concurrent decisions succeeds', async () => {
    const wallets = await pair('51.00')
    const { bizId } = await transfer(wallets, '50.00')
    const codes = await Promise.all([refusalOf(approve(bizId)), refusalOf(reject(bizId)), refusalOf(approve(bizId))])
    expect(codes.toSorted()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'none'])
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })
})
