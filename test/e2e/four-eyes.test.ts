import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { confirmation } from '../harness/confirmation.ts'
import type { Call } from '../harness/http.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { codeIn, type Session, signIn } from '../harness/sign-in.ts'
import { codeOf } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const denied = [403, 'ACCESS.PERMISSION_DENIED']
const reason = { reason: 'because' }
const newPassword = 'a-rather-long-passphrase-2026'

describe('an operator decides over nothing that they created at the CONSUMER portal', () => {
  let world: WithdrawalsWorld
  let checker: Session
  let account: string
  let token: string
  let workspace: string
  let wallet: string
  let channel: string

  const consumer = (method: string, path: string, call: Call = {}) =>
    world.portico.call(method, `/web/v1/consumer${path}`, call)
  const own = (method: string, path: string, body?: object) =>
    world.data(consumer(method, path, { token, workspace, ...(body && { body }) }))
  const post = (path: string, body: object) => world.data(consumer('POST', path, { body }))
  const mailed = async (to: string, template: 'login-code' | 'registration-code') =>
    codeIn((await world.portico.mailTo(to, template)).text)
  const checking = (path: string, body?: object) =>
    world.portico.call('POST', `/web/v1/system${path}`, { token: checker.accessToken, ...(body && { body }) })

  /** The account waits for approval. */
  const register = async (email: string): Promise<string> => {
    const { sessionId } = await post('/auth/register/initiate', { email, turnstileToken: 'x' })
    await post('/auth/register/verify-email', { sessionId, code: await mailed(email, 'registration-code') })
    const { accountBizId, passwordInitToken } = await post('/auth/register/complete', {
      sessionId,
      accountName: 'Olivia',
    })
    await post('/auth/password/init', { token: passwordInitToken, newPassword })
    return accountBizId
  }
  const enter = async (email: string): Promise<string> =>
    (await signIn(world.portico, email, {}, newPassword, 'consumer')).accessToken
  const recharge = async (): Promise<string> =>
    (await own('POST', '/recharges', { walletBizId: wallet, channelCode: 'CARD_USD', amount: '500.00' })).bizId

  beforeAll(async () => {
    world = await startWithdrawalsWorld(({ money, portals }) => {
      portals.CONSUMER.selfRegistration = 'approval'
      money.exchange.band = 'off'
      // Without a third pair, no cycle of rates can gain.
      money.exchange.rates = money.exchange.rates.filter(({ source }) => source !== 'EUR')
      money.transferApprovalFrom = { USD: '1.00' }
    })
    checker = await signIn(world.portico, 'checker@demo.test')
    account = await register('operator@demo.test')
    await world.data(checking(`/accounts/${account}/approve`))
    token = await enter('operator@demo.test')
    workspace = (await world.data(consumer('GET', '/workspaces/mine', { token })))[0].workspaceBizId
    const wallets: { bizId: string; currency: string }[] = await own('GET', '/wallets')
    wallet = wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
    channel = (await own('POST', '/withdrawal-channels', payoutAccount())).bizId
    await world.data(checking(`/withdrawal-channels/${channel}/verify`))
    await world.data(checking(`/recharges/${await recharge()}/confirm`, confirmation()))
  })
  afterAll(() => world?.portico.stop())

  test('operators.approveAccount, rejectAccount, suspendAccount, reactivateAccount 403: their own account', async () => {
    const newcomer = await register('checker@demo.test')
    for (const [step, body] of [['approve'], ['reject', reason], ['suspend', reason], ['reactivate']] as const)
      expect(codeOf(await checking(`/accounts/${newcomer}/${step}`, body)), step).toEqual(denied)
    await world.data(world.system('POST', `/accounts/${newcomer}/approve`))
  })

  test('withdrawalChannels.verify, reject 403: a payout account that they created', async () => {
    const { bizId } = await own('POST', '/withdrawal-channels', payoutAccount())
    expect(codeOf(await world.system('POST', `/withdrawal-channels/${bizId}/verify`))).toEqual(denied)
    expect(codeOf(await world.system('POST', `/withdrawal-channels/${bizId}/reject`, reason))).toEqual(denied)
    await world.data(checking(`/withdrawal-channels/${bizId}/verify`))
  })

  test('recharges.confirm, reject 403: a recharge that they created', async () => {
    const bizId = await recharge()
    expect(codeOf(await world.system('POST', `/recharges/${bizId}/confirm`))).toEqual(denied)
    expect(codeOf(await world.system('POST', `/recharges/${bizId}/reject`, reason))).toEqual(denied)
    await world.data(checking(`/recharges/${bizId}/confirm`, confirmation()))
  })

  test('withdrawals.approve, reject, complete, fail 403: a withdrawal that they created', async () => {
    const order = { walletBizId: wallet, withdrawalChannelBizId: channel, amount: '20.00' }
    const { bizId } = await own('POST', '/withdrawals', order)
    expect(codeOf(await world.system('POST', `/withdrawals/${bizId}/approve`))).toEqual(denied)
    expect(codeOf(await world.system('POST', `/withdrawals/${bizId}/reject`, reason))).toEqual(denied)
    await world.data(checking(`/withdrawals/${bizId}/approve`))
    expect(codeOf(await world.system('POST', `/withdrawals/${bizId}/complete`, {}))).toEqual(denied)
    expect(codeOf(await world.system('POST', `/withdrawals/${bizId}/fail`, reason))).toEqual(denied)
    await world.data(checking(`/withdrawals/${bizId}/complete`, {}))
  })

  test('workspaces.limitMember 403: their own membership; another operator can limit it', async () => {
    const limit = (policyConfig: object | null) => ({ userBizId: account, policyConfig, ...reason })
    const path = `/workspaces/${workspace}/members/policy`
    await world.data(checking(path, limit({ readOnly: true })))
    expect(codeOf(await world.system('POST', path, limit(null)))).toEqual(denied)
    await world.data(checking(path, limit(null)))
  })

  test('workspaces.limitMember 403: the membership of a co-owner', async () => {
    const partner = await signIn(world.portico, 'member@demo.test')
    const [{ bizId: roleBizId }] = await own('GET', '/roles')
    const { bizId: invitationBizId } = await own('POST', '/invitations', { email: 'member@demo.test', roleBizId })
    const response = { token: partner.accessToken, body: { invitationBizId } }
    await world.data(consumer('POST', '/profile/invitations/accept', response))
    const { bizId: userBizId } = await world.data(consumer('GET', '/profile', { token: partner.accessToken }))
    const limit = (policyConfig: object | null) => ({ userBizId, policyConfig, ...reason })
    const path = `/workspaces/${workspace}/members/policy`
    await world.data(checking(path, limit({ readOnly: true })))
    expect(codeOf(await world.system('POST', path, limit(null)))).toEqual(denied)
    await world.data(checking(path, limit(null)))
  })

  test('operators.unfreezeWorkspace, wallets.unfreeze 403: their own; every operator can freeze', async () => {
    for (const path of [`/workspaces/${workspace}`, `/wallets/${wallet}`]) {
      await world.data(world.system('POST', `${path}/freeze`, reason))
      expect(codeOf(await world.system('POST', `${path}/unfreeze`, reason)), path).toEqual(denied)
      await world.data(checking(`${path}/unfreeze`, reason))
    }
  })

  test('exchanges.quote 403: a rate that they set, which applies to everybody else', async () => {
    const set = (rate: string, by: string) => {
      const body = { sourceCurrency: 'EUR', targetCurrency: 'USD', rate }
      return world.data(world.portico.call('POST', '/web/v1/system/exchange-rates', { token: by, body }))
    }
    const order = (sourceCurrency: string, targetCurrency: string) => ({
      sourceCurrency,
      targetCurrency,
      amount: '9.00',
      fixedSide: 'SOURCE',
    })
    const quoting = (body: object) => consumer('POST', '/exchanges/quote', { token, workspace, body })
    await set('0.00001', world.operator.accessToken)
    expect(codeOf(await quoting(order('USD', 'EUR')))).toEqual(denied)
    expect(codeOf(await quoting(order('EUR', 'USD')))).toEqual(denied)
    await world.data(quoting(order('USD', 'JPY')))
    await world.data(world.web('POST', '/exchanges/quote', order('USD', 'EUR')))
    await set('1.0852', checker.accessToken)
    await world.data(quoting(order('USD', 'EUR')))
  })

  test('transfers.approve, reject 403: a transfer that they sent', async () => {
    const transfer = { sourceWalletBizId: wallet, targetWalletBizId: developmentIds.mainUsd }
    const { bizId } = await own('POST', '/transfer/command/create', { ...transfer, amount: '5.00', currency: 'USD' })
    expect(codeOf(await world.system('POST', `/transfers/${bizId}/approve`))).toEqual(denied)
    expect(codeOf(await world.system('POST', `/transfers/${bizId}/reject`, reason))).toEqual(denied)
    await world.data(checking(`/transfers/${bizId}/approve`))
  })

  test('recharges.confirm, withdrawalChannels.verify, wallets.unfreeze 403: a workspace that they have just left', async () => {
    const partner = await signIn(world.portico, 'member@demo.test')
    const as = (method: string, path: string, body?: object) =>
      world.data(consumer(method, path, { token: partner.accessToken, workspace, ...(body && { body }) }))
    const order = { walletBizId: wallet, channelCode: 'CARD_USD', amount: '500.00' }
    const { bizId: recharged } = await as('POST', '/recharges', order)
    const { bizId: payoutChannel } = await as('POST', '/withdrawal-channels', payoutAccount())
    await own('POST', '/workspaces/current/leave')
    const attempts = [
      [`/recharges/${recharged}/confirm`, confirmation()],
      [`/withdrawal-channels/${payoutChannel}/verify`, undefined],
      [`/wallets/${wallet}/unfreeze`, reason],
    ] as const
    await world.data(checking(`/wallets/${wallet}/freeze`, reason))
    for (const [path, body] of attempts) expect(codeOf(await world.system('POST', path, body)), path).toEqual(denied)
    for (const [path, body] of attempts.toReversed()) await world.data(checking(path, body))
  })
})
