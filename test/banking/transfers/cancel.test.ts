import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/transfers/contract.ts'
import { hours } from '../../../src/kernel/index.ts'
import { expireOrders } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { refusalOf } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('transfers that wait for approval on $name', ({ database }) => {
  let bank: TestBank
  let replica: TestBank
  const maker = systemIds.next<'account'>()
  const checker = systemIds.next<'account'>()
  beforeAll(async () => {
    const rules = { approvalThreshold: { USD: '50' }, fixedFee: { USD: '1' }, approvalLifeMs: hours(1) }
    bank = await createTestBank(database, rules)
    replica = await createTestBank(database, rules)
    await bank.ledger.registerTypes()
  })

  const waiting = async () => {
    const [source, target] = [await bank.wallet('USD', '51.00'), await bank.wallet('USD')]
    const body = { sourceWalletBizId: source.id, targetWalletBizId: target.id, amount: '50.00', currency: 'USD' }
    const { bizId } = await bank.call(contract.createTransfer, { as: maker, workspace: source.workspace, body })
    return { source, target, order_id: bizId }
  }
  const cancel = (order_id: string, { workspace }: TestWallet, requestId?: string) =>
    bank.call(contract.cancelTransfer, {
      ...{ as: maker, workspace, params: { order_id } },
      ...(requestId !== undefined && { requestId }),
    })
  const approve = (order_id: string, on = bank) =>
    on.call(contract.approveTransfer, { as: checker, params: { order_id } })
  const reject = (order_id: string) =>
    bank.call(contract.rejectTransfer, { as: checker, params: { order_id }, body: { reason: 'no' } })
  const stepsOf = (order: { statusHistory: { status: { code: string } }[] }) =>
    order.statusHistory.map(({ status }) => status.code)

  test('transfers.cancel 200: releases amount and fee once, and a repeated request gets the stored order', async () => {
    const { source, target, order_id } = await waiting()
    expect(await bank.available(source)).toBe('0.00')
    const cancelled = await cancel(order_id, source, 'cancel-1')
    expect(cancelled).toMatchObject({ transferStatus: { code: 'CANCELLED' }, completedAt: null })
    expect(stepsOf(cancelled)).toEqual(['PENDING_APPROVAL', 'CANCELLED'])
    expect(await cancel(order_id, source, 'cancel-1')).toEqual(cancelled)
    expect([await bank.available(source), await bank.available(target)]).toEqual(['51.00', '0.00'])
    for (const late of [() => cancel(order_id, source), () => approve(order_id), () => reject(order_id)])
      expect(await refusalOf(late())).toBe('STATE.CONFLICT')
    expect(await bank.available(source)).toBe('51.00')
  })

  test('transfers.cancel 404, 409: by the recipient, and of a completed transfer', async () => {
    const { source, target, order_id } = await waiting()
    expect(await refusalOf(cancel(order_id, target))).toBe('RESOURCE.NOT_FOUND')
    await approve(order_id)
    expect(await refusalOf(cancel(order_id, source))).toBe('STATE.CONFLICT')
    expect([await bank.available(source), await bank.available(target)]).toEqual(['0.00', '50.00'])
  })

  test('transfers: of a cancellation and approvals on two replicas, one succeeds, and the hold ends once', async () => {
    for (let round = 0; round < 8; round++) {
      const { source, target, order_id } = await waiting()
      const attempts = [
        () => refusalOf(cancel(order_id, source)),
        () => refusalOf(approve(order_id, replica)),
        () => refusalOf(approve(order_id)),
      ]
      const first = round % attempts.length
      const rivals = [...attempts.slice(first), ...attempts.slice(0, first)].map((attempt) => attempt())
      expect((await Promise.all(rivals)).toSorted()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'none'])
      const balance = await bank.ledger.readBalance({ wallet: source.id, workspace: source.workspace })
      expect(balance?.held.minor).toBe(0n)
      const funds = [await bank.available(source), await bank.available(target)]
      expect([
        ['51.00', '0.00'],
        ['0.00', '50.00'],
      ]).toContainEqual(funds)
    }
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test('transfers.read 200: EXPIRED after the time limit; approve, reject and cancel 409; the hold ends', async () => {
    const { source, order_id } = await waiting()
    bank.clock.advance(hours(1))
    for (const late of [() => cancel(order_id, source), () => approve(order_id), () => reject(order_id)])
      expect(await refusalOf(late())).toBe('STATE.CONFLICT')
    const read = () =>
      bank.call(contract.readTransfer, { as: maker, workspace: source.workspace, params: { order_id } })
    expect(stepsOf(await read())).toEqual(['PENDING_APPROVAL', 'EXPIRED'])
    const pending = await bank.call(contract.listPendingTransfers, { as: checker })
    expect(pending.items.map(({ bizId }) => bizId)).not.toContain(order_id)
    const expire = (on: TestBank) =>
      expireOrders(on.ledger, contract.transfers, { requestId: 'job', workspace: source.workspace })
    replica.clock.advance(hours(1))
    await Promise.all([expire(bank), expire(replica)])
    expect(await read()).toMatchObject({ version: 2, transferStatus: { code: 'EXPIRED' } })
    expect(await bank.available(source)).toBe('51.00')
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })
})
