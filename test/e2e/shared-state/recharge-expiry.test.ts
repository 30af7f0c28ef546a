import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { codeOf, conflict, limit } from '../money-world.ts'
import { cancelReason, type RechargesWorld, reason, startRechargesWorld, stepsOf } from '../recharges-world.ts'

const { workspace } = developmentIds

describe('expired recharges', needsStore(), () => {
  let world: RechargesWorld
  beforeAll(async () => {
    world = await startRechargesWorld(
      ({ money }) => {
        money.recharge.lifeMs = 1_000
        for (const channel of money.recharge.channels) channel.dailyMax = '100.00'
      },
      { everyMs: { 'recharges.expire': 1_000 } },
    )
  })
  afterAll(() => world?.portico.stop())

  test('recharges.read 200: EXPIRED; cancel, proof and reject 409; the daily limit is restored', async () => {
    const { data, web, system, upload, orderOf, create } = world
    const fileBizId = await upload()
    const { bizId } = await create({ channelCode: 'CARD_USD' })
    // The second amount exceeds the limit even without the expired recharge.
    const second = orderOf({ channelCode: 'CARD_USD', amount: '100.01' })
    expect(codeOf(await web('POST', '/recharges', second))).toEqual(limit)
    const read = () => data(web('GET', `/recharges/${bizId}`))
    await expect.poll(async () => (await read()).version, { timeout: 60_000, interval: 200 }).toBe(2)
    const order = await read()
    expect(stepsOf(order)).toEqual(['PENDING_PAYMENT', 'EXPIRED'])
    expect(order).toMatchObject({ rechargeStatus: { code: 'EXPIRED' }, completedAt: null })
    expect(order.statusHistory[1].actorBizId).toBeNull()
    const decisions = [
      await web('POST', `/recharges/${bizId}/cancel`, cancelReason),
      await web('POST', `/recharges/${bizId}/proof`, { fileBizId }),
      await system('POST', `/recharges/${bizId}/reject`, reason),
    ]
    for (const response of decisions) expect(codeOf(response)).toEqual(conflict)
    const audit = `/audit-log?action=recharges.expire&workspaceId=${workspace}`
    const entries = async () => (await data(system('GET', audit))).items
    await expect.poll(async () => (await entries()).length).toBe(1)
    expect((await entries())[0]).toMatchObject({ targetBizId: bizId, actorBizId: null, outcome: { code: 'SUCCESS' } })
    await create({ channelCode: 'CARD_USD' })
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })
})
