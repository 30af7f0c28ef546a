import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { codeOf, conflict, startMoneyWorld } from '../money-world.ts'

const { mainUsd, savingsUsd, workspace } = developmentIds

describe('transfers that wait for approval', needsStore(), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  beforeAll(async () => {
    world = await startMoneyWorld(
      ({ money }) => {
        money.transferApprovalFrom = { USD: '10.00' }
        money.transferApprovalLifeMs = 3_000
      },
      { everyMs: { 'transfers.expire': 1_000 } },
    )
  })
  afterAll(() => world?.portico.stop())

  const create = async () => {
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    const body = { ...wallets, amount: '20.00', currency: 'USD' }
    return (await world.data(world.web('POST', '/transfer/command/create', body))).bizId
  }
  const balance = () => world.data(world.web('GET', `/wallets/${mainUsd}/balance`))

  test('transfers.cancel 200, transfers.read 200 EXPIRED: the funds come back, and the audit log has both', async () => {
    const { data, web, system } = world
    const before = (await balance()).availableBalance
    const cancelled = await create()
    const reply = await data(web('POST', `/transfer/command/${cancelled}/cancel`))
    expect(reply.transferStatus).toMatchObject({ code: 'CANCELLED', label: 'Cancelled' })
    expect(codeOf(await system('POST', `/transfers/${cancelled}/approve`))).toEqual(conflict)
    const expired = await create()
    const read = () => data(web('GET', `/transfer/query/orders/${expired}`))
    await expect.poll(async () => (await read()).version, { timeout: 60_000, interval: 200 }).toBe(2)
    expect((await read()).transferStatus.code).toBe('EXPIRED')
    expect(codeOf(await web('POST', `/transfer/command/${expired}/cancel`))).toEqual(conflict)
    expect((await balance()).availableBalance).toBe(before)
    const audited = async (action: string) => {
      const { items } = await data(system('GET', `/audit-log?action=${action}&workspaceId=${workspace}`))
      return items.map(({ targetBizId }: { targetBizId: string }) => targetBizId)
    }
    expect(await audited('transfers.cancel')).toContain(cancelled)
    expect(await audited('transfers.expire')).toEqual([expired])
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })
})
