import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { confirmation } from '../harness/confirmation.ts'
import type { Call } from '../harness/http.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { codeIn, type Session, signIn } from '../harness/sign-in.ts'
import { codeOf, conflict } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const denied = [403, 'ACCESS.PERMISSION_DENIED']
const reason = { reason: 'because' }

describe('separation of duties between operators', () => {
  let world: WithdrawalsWorld
  let checker: Session

  const checking = (path: string, body?: object) =>
    world.portico.call('POST', `/web/v1/system${path}`, { token: checker.accessToken, ...(body && { body }) })
  const first = (path: string, body?: object) => world.system('POST', path, body)

  beforeAll(async () => {
    world = await startWithdrawalsWorld(({ money, portals }) => {
      money.separationOfDuties = { enabled: true, from: { USD: '100.00' } }
      money.transferApprovalFrom = { USD: '1.00' }
      portals.CONSUMER.selfRegistration = 'open'
    })
    checker = await signIn(world.portico, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  test('withdrawals.approve 403: the operator who verified the payout account; another one approves', async () => {
    const { bizId } = await world.create()
    expect(codeOf(await first(`/withdrawals/${bizId}/approve`))).toEqual(denied)
    await world.data(checking(`/withdrawals/${bizId}/approve`))
  })

  test('withdrawals.complete, fail 403: the operator who approved it; another one completes', async () => {
    const { bizId } = await world.create()
    await world.data(checking(`/withdrawals/${bizId}/approve`))
    expect(codeOf(await checking(`/withdrawals/${bizId}/complete`, {}))).toEqual(denied)
    expect(codeOf(await checking(`/withdrawals/${bizId}/fail`, reason))).toEqual(denied)
    await world.data(first(`/withdrawals/${bizId}/complete`, {}))
  })

  test('withdrawals.return 403: the operators who approved and completed it', async () => {
    const { bizId } = await world.create()
    await world.data(checking(`/withdrawals/${bizId}/approve`))
    await world.data(first(`/withdrawals/${bizId}/complete`, {}))
    expect(codeOf(await first(`/withdrawals/${bizId}/return`, reason))).toEqual(denied)
    expect(codeOf(await checking(`/withdrawals/${bizId}/return`, reason))).toEqual(denied)
  })

  test('withdrawals.approve, complete 200: one operator alone, below the threshold', async () => {
    const { bizId } = await world.create({ amount: '99.99' })
    await world.data(first(`/withdrawals/${bizId}/approve`))
    await world.data(first(`/withdrawals/${bizId}/complete`, {}))
  })

  test('withdrawals.approve 403: also when the request is repeated; rejecting is not an earlier decision', async () => {
    const { bizId } = await world.create()
    const id = crypto.randomUUID()
    for (const _ of [1, 2])
      expect(codeOf(await world.system('POST', `/withdrawals/${bizId}/approve`, undefined, id))).toEqual(denied)
    await world.data(first(`/withdrawals/${bizId}/reject`, reason))
  })

  test('settings.money.separationOfDuties: the start records a setting that is not the default', async () => {
    const path = '/audit-log?action=settings.money.separationOfDuties&sortOrder=desc'
    const { items } = await world.data(world.system('GET', path))
    expect(items[0]).toMatchObject({ actorBizId: null, detail: { enabled: true, USD: '100.00' } })
  })

  describe('of an operator who joins with a sub-address after a decision', () => {
    const post = (path: string, body: object, token?: string) =>
      world.portico.call('POST', `/web/v1/consumer${path}`, { body, ...(token !== undefined && { token }) })
    let joining: string
    let invitationBizId: string
    let workspace: string

    beforeAll(async () => {
      const [email, newPassword] = ['checker+private@demo.test', 'a-rather-long-passphrase-2026']
      const { sessionId } = await world.data(post('/auth/register/initiate', { email, turnstileToken: 'x' }))
      const { text } = await world.portico.mailTo(email, 'registration-code')
      await world.data(post('/auth/register/verify-email', { sessionId, code: codeIn(text) }))
      const done = await world.data(post('/auth/register/complete', { sessionId, accountName: 'Chris' }))
      await world.data(post('/auth/password/init', { token: done.passwordInitToken, newPassword }))
      joining = (await signIn(world.portico, email, {}, newPassword, 'consumer')).accessToken
    })
    const asOwner = (path: string, body: object) => world.data(world.web('POST', path, body, { workspace }))
    const accept = () => post('/profile/invitations/accept', { invitationBizId }, joining)
    /** Returns its wallet. */
    const openWorkspace = async (): Promise<string> => {
      const created = { workspaceName: crypto.randomUUID(), workspaceKind: 'LIVE' }
      workspace = (await world.data(world.web('POST', '/workspaces', created))).bizId
      const role = await asOwner('/roles', { roleName: 'Guest', permissionCodes: ['wallet:read'] })
      const invited = { email: 'checker+private@demo.test', roleBizId: role.bizId }
      invitationBizId = (await asOwner('/invitations', invited)).bizId
      const wallets = await world.data(world.web('GET', '/wallets', undefined, { workspace }))
      return wallets.find(({ currency }: { currency: string }) => currency === 'USD').bizId
    }

    test('invitations.accept 409 STATE.CONFLICT: an operator who has confirmed a recharge of the workspace', async () => {
      const walletBizId = await openWorkspace()
      const recharge = { walletBizId, channelCode: 'CARD_USD', amount: '500.00' }
      const { bizId } = await asOwner('/recharges', recharge)
      await world.data(checking(`/recharges/${bizId}/confirm`, confirmation()))
      expect(codeOf(await accept())).toEqual(conflict)
    })

    test('invitations.accept 409 STATE.CONFLICT: an operator who has approved a transfer to the workspace', async () => {
      const targetWalletBizId = await openWorkspace()
      const transfer = { sourceWalletBizId: developmentIds.mainUsd, targetWalletBizId, amount: '5.00', currency: 'USD' }
      const { bizId } = await world.data(world.web('POST', '/transfer/command/create', transfer))
      await world.data(checking(`/transfers/${bizId}/approve`))
      expect(codeOf(await accept())).toEqual(conflict)
    })

    test('invitations.accept 200: an operator who has decided on another workspace only', async () => {
      await openWorkspace()
      expect((await accept()).status).toBe(200)
    })
  })

  describe('of an operator who belongs to the workspace with a sub-address', () => {
    let token: string
    let workspace: string
    let wallet: string

    const consumer = (method: string, path: string, call: Call = {}) =>
      world.portico.call(method, `/web/v1/consumer${path}`, call)
    const own = (method: string, path: string, body?: object) =>
      world.data(consumer(method, path, { token, workspace, ...(body && { body }) }))

    beforeAll(async () => {
      const [email, newPassword] = ['Operator+private@demo.test', 'a-rather-long-passphrase-2026']
      const post = (path: string, body: object) => world.data(consumer('POST', path, { body }))
      const { sessionId } = await post('/auth/register/initiate', { email, turnstileToken: 'x' })
      const { text } = await world.portico.mailTo(email.toLowerCase(), 'registration-code')
      await post('/auth/register/verify-email', { sessionId, code: codeIn(text) })
      const { passwordInitToken } = await post('/auth/register/complete', { sessionId, accountName: 'Olivia' })
      await post('/auth/password/init', { token: passwordInitToken, newPassword })
      token = (await signIn(world.portico, email.toLowerCase(), {}, newPassword, 'consumer')).accessToken
      workspace = (await world.data(consumer('GET', '/workspaces/mine', { token })))[0].workspaceBizId
      // The operator must have created none of the objects below.
      const [{ bizId: roleBizId }] = await own('GET', '/roles')
      const { bizId: invitationBizId } = await own('POST', '/invitations', { email: 'owner@demo.test', roleBizId })
      await world.data(world.web('POST', '/profile/invitations/accept', { invitationBizId }))
      const wallets: { bizId: string; currency: string }[] = await own('GET', '/wallets')
      wallet = wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
    })
    const asOwner = (path: string, body: object) => world.data(world.web('POST', path, body, { workspace }))

    test('recharges.confirm, reject 403; another operator confirms', async () => {
      const { bizId } = await asOwner('/recharges', { walletBizId: wallet, channelCode: 'CARD_USD', amount: '500.00' })
      expect(codeOf(await first(`/recharges/${bizId}/confirm`, confirmation()))).toEqual(denied)
      expect(codeOf(await first(`/recharges/${bizId}/reject`, reason))).toEqual(denied)
      await world.data(checking(`/recharges/${bizId}/confirm`, confirmation()))
    })

    test('withdrawalChannels.verify, reject 403; withdrawals.approve, reject 403', async () => {
      const { bizId: channel } = await asOwner('/withdrawal-channels', payoutAccount())
      expect(codeOf(await first(`/withdrawal-channels/${channel}/verify`))).toEqual(denied)
      expect(codeOf(await first(`/withdrawal-channels/${channel}/reject`, reason))).toEqual(denied)
      await world.data(checking(`/withdrawal-channels/${channel}/verify`))
      const order = { walletBizId: wallet, withdrawalChannelBizId: channel, amount: '20.00' }
      const { bizId } = await asOwner('/withdrawals', order)
      expect(codeOf(await first(`/withdrawals/${bizId}/approve`))).toEqual(denied)
      expect(codeOf(await first(`/withdrawals/${bizId}/reject`, reason))).toEqual(denied)
    })

    test('transfers.approve, reject 403: a transfer into the workspace', async () => {
      const transfer = {
        sourceWalletBizId: developmentIds.mainUsd,
        targetWalletBizId: wallet,
        amount: '5.00',
        currency: 'USD',
      }
      const { bizId } = await world.data(world.web('POST', '/transfer/command/create', transfer))
      expect(codeOf(await first(`/transfers/${bizId}/approve`))).toEqual(denied)
      expect(codeOf(await first(`/transfers/${bizId}/reject`, reason))).toEqual(denied)
      await world.data(checking(`/transfers/${bizId}/approve`))
    })

    test('workspaces.limitMember, unfreeze, wallets.close 403; freeze 200', async () => {
      const { bizId: userBizId } = await world.data(world.web('GET', '/profile'))
      const limit = { userBizId, policyConfig: { readOnly: true }, ...reason }
      expect(codeOf(await first(`/workspaces/${workspace}/members/policy`, limit))).toEqual(denied)
      await world.data(first(`/wallets/${wallet}/freeze`, reason))
      expect(codeOf(await first(`/wallets/${wallet}/unfreeze`, reason))).toEqual(denied)
      expect(codeOf(await first(`/wallets/${wallet}/close`, reason))).toEqual(denied)
      await world.data(first(`/workspaces/${workspace}/freeze`, reason))
      expect(codeOf(await first(`/workspaces/${workspace}/unfreeze`, reason))).toEqual(denied)
    })
  })
})
