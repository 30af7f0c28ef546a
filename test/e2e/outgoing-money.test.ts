import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { signInOnly, stepUp } from '../harness/sign-in.ts'
import { codeOf } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { mainUsd, workspace } = developmentIds
const stepUpRequired = [403, 'ACCESS.STEP_UP_REQUIRED']
const held = [403, 'ACCESS.OWNER_HOLD']

let world: WithdrawalsWorld
beforeAll(async () => {
  world = await startWithdrawalsWorld(({ money, access }) => {
    money.stepUpAbove = { transfers: { USD: '100.00' }, withdrawals: { USD: '100.00' }, apiKeys: 'refuse' }
    access.ownerHoldMs = 3_600_000
  })
})
afterAll(() => world?.portico.stop())

describe('outgoing money and owners of a stolen session', () => {
  test('transfers, withdrawals 403 ACCESS.STEP_UP_REQUIRED: above the sums; the same id then succeeds', async () => {
    const { portico, data, orderOf } = world
    const session = await signInOnly(portico)
    const send = (path: string, body: unknown, id: string = randomUUID(), to = workspace) =>
      portico.call('POST', `/web/v1/consumer${path}`, {
        token: session.accessToken,
        workspace: to,
        headers: { 'x-request-id': id },
        body,
      })
    const { bizId: other } = await data(send('/workspaces', { workspaceName: 'Elsewhere' }))
    const wallets: { bizId: string; currency: string }[] = await data(
      portico.call('GET', '/web/v1/consumer/wallets', { token: session.accessToken, workspace: other }),
    )
    const target = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const transfer = (amount: string) => ({
      sourceWalletBizId: mainUsd,
      targetWalletBizId: target,
      amount,
      currency: 'USD',
    })
    expect((await send('/transfer/command/create', transfer('100.00'))).status).toBe(200)
    expect((await send('/withdrawals', orderOf({ amount: '100.00' }))).status).toBe(200)
    const [first, second] = [randomUUID(), randomUUID()]
    const attempt = async () => [
      await send('/transfer/command/create', transfer('1.00'), first),
      await send('/withdrawals', orderOf({ amount: '10.00' }), second),
    ]
    expect((await attempt()).map(codeOf)).toEqual([stepUpRequired, stepUpRequired])
    await stepUp(portico, session.accessToken)
    expect((await attempt()).map(({ status }) => status)).toEqual([200, 200])
    const [again] = await attempt()
    expect(again?.body.data).toMatchObject({ amount: '1.00', transferStatus: { code: 'COMPLETED' } })
  })

  test('invitations.create 403 ACCESS.STEP_UP_REQUIRED, withdrawals 403 ACCESS.OWNER_HOLD: OWNER grants', async () => {
    const { portico, web, data, orderOf } = world
    const roles: { bizId: string; roleType: { code: string } }[] = await data(web('GET', '/roles'))
    const owners = roles.find(({ roleType }) => roleType.code === 'OWNER')?.bizId
    const invitation = { email: `${randomUUID()}@example.test`, roleBizId: owners }
    const session = await signInOnly(portico)
    const invite = (token: string) =>
      portico.call('POST', '/web/v1/consumer/invitations', { token, workspace, body: invitation })
    expect(codeOf(await invite(session.accessToken))).toEqual(stepUpRequired)
    expect((await invite(world.owner.accessToken)).status).toBe(200)

    const member = await signInOnly(portico, 'member@demo.test')
    const members: { items: { userBizId: string; isOwner: boolean }[] } = await data(web('GET', '/roles/members'))
    const userBizId = members.items.find(({ isOwner }) => !isOwner)?.userBizId
    await data(web('POST', '/roles/members/role/change', { userBizId, roleBizId: owners }))
    const response = await portico.call('POST', '/web/v1/consumer/withdrawals', {
      token: member.accessToken,
      workspace,
      headers: { 'x-request-id': randomUUID() },
      body: orderOf({ amount: '10.00' }),
    })
    expect(codeOf(response)).toEqual(held)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(3_000)
  })
})
