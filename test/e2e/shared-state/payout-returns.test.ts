import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { assertOneSucceeds, codeOf, conflict, limit } from '../money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from '../withdrawals-world.ts'

const { mainEur, mainUsd, workspace } = developmentIds
const denied = [403, 'ACCESS.PERMISSION_DENIED']
const reason = { reason: 'the account is closed' }

describe('payouts that the bank returns', needsStore(), () => {
  let world: WithdrawalsWorld
  let checker: Session
  beforeAll(async () => {
    world = await startWithdrawalsWorld()
    checker = await signIn(world.portico, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  const giveBack = (id: string) =>
    world.portico.call('POST', `/web/v1/system/withdrawals/${id}/return`, { token: checker.accessToken, body: reason })
  const paidOut = async (changed: object = {}): Promise<string> => {
    const { bizId } = await world.createApproved(changed)
    await world.data(world.system('POST', `/withdrawals/${bizId}/complete`, {}))
    return bizId
  }

  test('withdrawals.return 200: a second operator gives amount and fee back, once, and the owners learn it', async () => {
    const { data, web, system, portico, balanceChange } = world
    const change = await balanceChange(async () => {
      const id = await paidOut()
      expect(codeOf(await system('POST', `/withdrawals/${id}/return`, reason))).toEqual(denied)
      const { body } = await assertOneSucceeds([giveBack(id), giveBack(id), giveBack(id)])
      expect(body.data.withdrawalStatus).toMatchObject({ code: 'RETURNED', label: 'Returned' })
      const order = await data(web('GET', `/withdrawals/${id}`))
      const steps = order.statusHistory.map((step: { status: { code: string } }) => step.status.code)
      expect(steps).toEqual(['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'RETURNED'])
      expect(order.statusHistory.at(-1).reason).toBe(reason.reason)
      expect(order.failureReason).toBe(reason.reason)
      const { items } = await data(system('GET', `/audit-log?action=withdrawals.return&workspaceId=${workspace}`))
      const outcomes = items.map((entry: { outcome: { code: string } }) => entry.outcome.code)
      expect(outcomes.filter((code: string) => code === 'SUCCESS')).toHaveLength(1)
      for (const verb of ['complete', 'approve'])
        expect(codeOf(await system('POST', `/withdrawals/${id}/${verb}`))).toEqual(conflict)
    })
    expect(change).toEqual([0, 0])
    const notices = async () =>
      (await portico.mailsTo('owner@demo.test')).filter(({ text }) => text.includes('A payout has been returned.'))
    await expect.poll(async () => (await notices()).length).toBe(1)
    expect((await notices())[0]?.text).toContain('100.00 USD')
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })

  test('withdrawals.return 200: gives the daily limit back', async () => {
    const { data, web, eur, orderOf } = world
    const order = { walletBizId: mainEur, withdrawalChannelBizId: eur, amount: '40.00' }
    const id = await paidOut(order)
    expect(codeOf(await web('POST', '/withdrawals', orderOf(order)))).toEqual(limit)
    await data(giveBack(id))
    await data(web('POST', '/withdrawals', orderOf(order)))
  })

  test('withdrawals.return 200, 422 WALLET.NOT_ACTIVE: to a frozen wallet, and not to a closed one', async () => {
    const { data, web, system } = world
    const { bizId } = await data(web('POST', '/workspaces', { workspaceName: 'Returns', workspaceKind: 'LIVE' }))
    const own = { workspace: bizId }
    const wallets: { bizId: string; currency: string }[] = await data(web('GET', '/wallets', undefined, own))
    const wallet = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const funding = { sourceWalletBizId: mainUsd, targetWalletBizId: wallet, amount: '20.00', currency: 'USD' }
    await data(web('POST', '/transfer/command/create', funding))
    const channel = (await data(web('POST', '/withdrawal-channels', payoutAccount(), own))).bizId
    await data(system('POST', `/withdrawal-channels/${channel}/verify`))
    const order = { walletBizId: wallet, withdrawalChannelBizId: channel, amount: '20.00' }
    const payOut = async (): Promise<string> => {
      const { bizId: id } = await data(web('POST', '/withdrawals', order, own))
      for (const verb of ['approve', 'complete']) await data(system('POST', `/withdrawals/${id}/${verb}`))
      return id
    }
    const first = await payOut()
    await data(system('POST', `/wallets/${wallet}/freeze`, reason))
    await data(giveBack(first))
    await data(system('POST', `/wallets/${wallet}/unfreeze`, reason))
    const second = await payOut()
    for (const verb of ['freeze', 'close']) await data(system('POST', `/wallets/${wallet}/${verb}`, reason))
    expect(codeOf(await giveBack(second))).toEqual([422, 'WALLET.NOT_ACTIVE'])
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })

  test('withdrawals.return 404, 409: of an unknown order, and before the payout', async () => {
    const { bizId } = await world.createApproved()
    expect(codeOf(await giveBack(bizId))).toEqual(conflict)
    expect(codeOf(await giveBack('x'))[0]).toBe(404)
  })
})
