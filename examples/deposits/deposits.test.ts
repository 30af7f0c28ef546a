/* Tests of the deposits domain with the testing kit: `npx vitest run`. */
import { bankingDomains } from 'portico'
import { type Place, promises, startPortico, type TestPortico } from 'portico/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from './contract.ts'
import deposits from './index.ts'

const body = { amount: '120.00', currency: 'USD' }
async function requested(place: Place) {
  return {
    params: { deposit_id: (await place.run(contract.requestDeposit, { body })).bizId },
  }
}
const samples = {
  'deposits.request': () => ({ body }),
  'deposits.read': requested,
  'deposits.cancel': requested,
  'deposits.accept': requested,
  'deposits.decline': async (place: Place) => ({ ...(await requested(place)), body: { reason: 'too small' } }),
  'deposits.payBack': async (place: Place) => {
    const { params } = await requested(place)
    await place.run(contract.acceptDeposit, { params })
    return { params }
  },
}
promises([deposits], { describe, test, beforeAll, afterAll, expect }, { samples })

describe('deposits', () => {
  const workspaceId = '01990000-0000-7000-8000-000000000002'
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, deposits], contract: [contract] })
  })
  afterAll(() => portico?.stop())
  const request = async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const wallets = await owner.listWallets({ workspaceId })
    const wallet_id = wallets.find(({ currency, isDefault }) => currency === 'USD' && isDefault)?.bizId ?? ''
    const balance = async () => {
      const { availableBalance, heldBalance } = await owner.readBalance({ workspaceId, params: { wallet_id } })
      return { available: Number(availableBalance), held: Number(heldBalance) }
    }
    const before = await balance()
    const { bizId } = await owner.requestDeposit({ workspaceId, body })
    return { owner, before, balance, params: { deposit_id: bizId } }
  }

  test('deposits.accept 200: takes the held funds, and payBack returns them once', async () => {
    const { before, balance, params } = await request()
    expect(await balance()).toEqual({ available: before.available - 120, held: before.held + 120 })
    const operator = await portico.signInOperator('operator@demo.test')
    expect((await operator.acceptDeposit({ params })).depositStatus.code).toBe('ACCEPTED')
    expect(await balance()).toEqual({ available: before.available - 120, held: before.held })
    const paidBack = await operator.payDepositBack({ params })
    expect(paidBack.statusHistory.map(({ status }) => status.code)).toEqual(['REQUESTED', 'ACCEPTED', 'PAID_BACK'])
    expect(await balance()).toEqual(before)
    await expect(operator.payDepositBack({ params })).rejects.toMatchObject({ code: 'STATE.CONFLICT' })
  })

  test('deposits.decline 200: releases the funds and shows the reason to the workspace', async () => {
    const { owner, before, balance, params } = await request()
    const operator = await portico.signInOperator('operator@demo.test')
    await operator.declineDeposit({ params, body: { reason: 'too small' } })
    expect((await owner.readDeposit({ workspaceId, params })).declineReason).toBe('too small')
    expect(await balance()).toEqual(before)
    await expect(owner.cancelDeposit({ workspaceId, params })).rejects.toMatchObject({ code: 'STATE.CONFLICT' })
  })

  test('deposits.list 200: the deposits with a status', async () => {
    const { owner, params } = await request()
    await owner.cancelDeposit({ workspaceId, params })
    const query = { depositStatus: 'CANCELLED', pageSize: '100' } as const
    const { items } = await owner.listDeposits({ workspaceId, query })
    expect(items.map(({ bizId }) => bizId)).toContain(params.deposit_id)
  })
})
