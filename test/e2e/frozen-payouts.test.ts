import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { confirmation } from '../harness/confirmation.ts'
import { type Session, signIn } from '../harness/sign-in.ts'
import { codeOf, conflict } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const reason = { reason: 'under review' }

describe('orders of a frozen workspace and of a suspended account', () => {
  let world: WithdrawalsWorld
  let checker: Session
  const change = (path: string) => world.data(world.system('POST', path, reason))
  const setFrozen = (isFrozen: boolean) => change(`/workspaces/${workspace}/${isFrozen ? 'freeze' : 'unfreeze'}`)
  const decide = (path: string, body?: object) =>
    world.portico.call('POST', `/web/v1/system${path}`, { token: checker.accessToken, ...(body && { body }) })
  const recharge = (amount: string) =>
    world.data(world.web('POST', '/recharges', { walletBizId: mainUsd, channelCode: 'CARD_USD', amount }))
  const transfer = (amount: string) => {
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    return world.data(world.web('POST', '/transfer/command/create', { ...wallets, amount, currency: 'USD' }))
  }
  const read = (path: string) => world.data(world.system('GET', path))

  beforeAll(async () => {
    world = await startWithdrawalsWorld(({ money }) => {
      money.transferApprovalFrom = { USD: '50.00' }
    })
    checker = await signIn(world.portico, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  test('operators.freezeWorkspace 200: counts the pending orders of the workspace', async () => {
    const orders = [
      await world.create(),
      await world.createApproved(),
      await recharge('10.00'),
      await transfer('60.00'),
    ]
    const ended = await world.create()
    await change(`/withdrawals/${ended.bizId}/reject`)
    const frozen = await setFrozen(true)
    expect(frozen).toMatchObject({ bizId: workspace, workspaceStatus: { code: 'FROZEN' } })
    expect(frozen.pending).toEqual({ withdrawals: 2, transfers: 1, recharges: 1 })
    await setFrozen(false)
    expect(orders).toHaveLength(4)
  })

  test('withdrawals.approve, complete 409: in a frozen workspace; reject and fail release the funds', async () => {
    const [requested, approved] = [await world.create(), await world.createApproved()]
    await setFrozen(true)
    expect(codeOf(await decide(`/withdrawals/${requested.bizId}/approve`))).toEqual(conflict)
    expect(codeOf(await decide(`/withdrawals/${approved.bizId}/complete`, {}))).toEqual(conflict)
    await world.data(decide(`/withdrawals/${requested.bizId}/reject`, reason))
    await world.data(decide(`/withdrawals/${approved.bizId}/fail`, reason))
    const order = await read(`/withdrawals/${approved.bizId}`)
    expect(order).toMatchObject({ workspaceStatus: { code: 'FROZEN' }, creatorStatus: { code: 'ACTIVE' } })
    await setFrozen(false)
  })

  test('recharges.confirm, transfers.approve 409: in a frozen workspace, until it is unfrozen', async () => {
    const [{ bizId: paid }, { bizId: sent }] = [await recharge('20.00'), await transfer('70.00')]
    await setFrozen(true)
    expect(codeOf(await decide(`/recharges/${paid}/confirm`, confirmation()))).toEqual(conflict)
    expect(codeOf(await decide(`/transfers/${sent}/approve`))).toEqual(conflict)
    await setFrozen(false)
    await world.data(decide(`/recharges/${paid}/confirm`, confirmation()))
    await world.data(decide(`/transfers/${sent}/approve`))
  })

  test('withdrawals.approve, complete 409: the account that made the request is suspended', async () => {
    const [requested, approved] = [await world.create(), await world.createApproved()]
    const { bizId: owner } = await world.data(world.web('GET', '/profile'))
    const pending = await transfer('80.00')
    await change(`/accounts/${owner}/suspend`)
    expect(codeOf(await decide(`/withdrawals/${requested.bizId}/approve`))).toEqual(conflict)
    expect(codeOf(await decide(`/withdrawals/${approved.bizId}/complete`, {}))).toEqual(conflict)
    const listed = await read(`/withdrawals?workspaceId=${workspace}&withdrawalStatus=PROCESSING&sortOrder=desc`)
    const found = listed.items.find(({ bizId }: { bizId: string }) => bizId === approved.bizId)
    expect(found).toMatchObject({ workspaceStatus: { code: 'ACTIVE' }, creatorStatus: { code: 'SUSPENDED' } })
    const transfers = await read(`/transfers/pending?workspaceId=${workspace}`)
    expect(transfers.items.find(({ bizId }: { bizId: string }) => bizId === pending.bizId)).toMatchObject({
      creatorStatus: { code: 'SUSPENDED' },
    })
    await world.data(decide(`/withdrawals/${approved.bizId}/fail`, reason))
    await world.data(world.system('POST', `/accounts/${owner}/reactivate`))
    await world.data(decide(`/withdrawals/${requested.bizId}/approve`))
  })
})
