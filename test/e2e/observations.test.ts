import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { mainUsd, savingsUsd } = developmentIds
const reason = 'Change of duties'

describe('the work that waits for operators', () => {
  let world: WithdrawalsWorld
  let operator: Client<'SYSTEM'>
  let checker: Client<'SYSTEM'>

  beforeAll(async () => {
    world = await startWithdrawalsWorld(({ money }) => {
      money.transferApprovalFrom = { USD: '1.00' }
    })
    operator = clientOf(world.portico, 'SYSTEM')
    checker = clientOf(world.portico, 'SYSTEM')
    await signInAs(world.portico, operator, 'operator@demo.test')
    await signInAs(world.portico, checker, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  const waiting = async () =>
    Object.fromEntries((await operator.readOverview()).queues.map(({ queue, waiting: count }) => [queue, count]))
  const revoke = async (...permissionCodes: string[]) => {
    const { bizId } = await checker.readProfile()
    await operator.revokeOperatorPermissions({
      params: { account_id: bizId },
      body: { permissionCodes: permissionCodes as [], reason },
    })
  }

  test('observations.readOverview 200: counts each kind of work, and no longer when it is done', async () => {
    const empty = await waiting()
    expect(Object.values(empty)).toEqual([0, 0, 0, 0, 0, 0, 0])
    const moving = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, currency: 'USD', amount: '2.00' }
    const transfer = await world.data(world.web('POST', '/transfer/command/create', moving))
    await world.create()
    await world.createApproved()
    const channel = await world.createChannel({ accountNumber: 'DE02120300000000202051' })
    const { bizId } = await checker.readProfile()
    const body = { permissionCodes: ['audit:read' as const], reason }
    await operator.proposePermissions({ params: { account_id: bizId }, body })
    const overview = await operator.readOverview()
    const counts = Object.fromEntries(overview.queues.map(({ queue, waiting: count }) => [queue, count]))
    expect(counts).toEqual({
      TRANSFER_APPROVAL: 1,
      RECHARGE_CONFIRMATION: 0,
      WITHDRAWAL_APPROVAL: 1,
      WITHDRAWAL_SETTLEMENT: 1,
      PAYOUT_ACCOUNT_VERIFICATION: 1,
      ACCOUNT_APPROVAL: 0,
      PROPOSAL_CONFIRMATION: 1,
    })
    const oldest = Object.fromEntries(overview.queues.map(({ queue, oldestAt }) => [queue, oldestAt]))
    expect(oldest).toMatchObject({
      TRANSFER_APPROVAL: transfer.createdAt,
      RECHARGE_CONFIRMATION: null,
      PAYOUT_ACCOUNT_VERIFICATION: channel.createdAt,
    })
    await operator.verifyWithdrawalChannel({ params: { withdrawal_channel_id: channel.bizId } })
    expect(await waiting()).toMatchObject({ PAYOUT_ACCOUNT_VERIFICATION: 0, WITHDRAWAL_APPROVAL: 1 })
  })

  test('observations 200: shows a queue with the permission to list it, and whether the caller can decide', async () => {
    await revoke('recharge:read', 'recharge:approve', 'withdrawal:settle')
    const read = async () => (await checker.readOverview()).queues
    // Each replica caches sessions for a short time.
    await expect.poll(async () => (await read()).map(({ queue }) => queue)).not.toContain('RECHARGE_CONFIRMATION')
    const queues = await read()
    expect(Object.fromEntries(queues.map(({ queue, canDecide }) => [queue, canDecide]))).toMatchObject({
      WITHDRAWAL_APPROVAL: true,
      WITHDRAWAL_SETTLEMENT: false,
    })
  })

  test('observations 403 ACCESS.PERMISSION_DENIED: an operator without gateway:observe sees nothing', async () => {
    await revoke('gateway:observe')
    const denied = { status: 403, code: 'ACCESS.PERMISSION_DENIED' }
    await expect
      .poll(() =>
        checker.readOverview().then(
          () => 'open',
          (error) => error.code,
        ),
      )
      .toBe(denied.code)
    await expect(checker.listRequests()).rejects.toMatchObject(denied)
    await expect(checker.readRequest({ query: { requestId: 'an-id' } })).rejects.toMatchObject(denied)
  })
})
