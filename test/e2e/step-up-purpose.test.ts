import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { unknownId } from '../harness/catalogue.ts'
import { client, newcomer } from '../harness/identity.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const owner = 'owner@demo.test'
const operator = 'operator@demo.test'

const invalidParameter = [400, 'VALIDATION.INVALID_PARAMETER']

describe('the purpose of a step-up', () => {
  let portico: Portico
  let tokens: { owner: string; operator: string }
  let channel: string
  let order: string
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.login.resendMs = 0
      },
    })
    tokens = {
      owner: (await signIn(portico, owner)).accessToken,
      operator: (await signIn(portico, operator)).accessToken,
    }
    const account = payoutAccount({ accountNumber: 'DE89 3704 0044 0532 0130 00', currency: 'USD' })
    channel = (await web('/withdrawal-channels', account)).body.data.bizId
    await portico.call('POST', `/web/v1/system/withdrawal-channels/${channel}/verify`, {
      token: (await signIn(portico, 'checker@demo.test')).accessToken,
    })
    order = (await web('/withdrawals', { walletBizId: mainUsd, withdrawalChannelBizId: channel, amount: '250.00' }))
      .body.data.bizId
  })
  afterAll(() => portico?.stop())

  const web = (path: string, body: object, headers: Record<string, string> = {}) =>
    portico.call('POST', `/web/v1/consumer${path}`, {
      token: tokens.owner,
      body,
      headers: { 'x-workspace-id': workspace, ...headers },
    })
  const send = (purpose?: object, headers?: Record<string, string>) =>
    web('/security/step-up/send', { mfaMethod: 'EMAIL', ...(purpose && { purpose }) }, headers)
  /** The purpose of a withdrawal. Undefined removes a field. */
  const withdrawal = (changed: object) => ({
    operationId: 'withdrawals.create',
    walletBizId: mainUsd,
    withdrawalChannelBizId: channel,
    amount: '250.00',
    ...changed,
  })
  const sendAsOperator = (purpose: object, token = tokens.operator) =>
    portico.call('POST', '/web/v1/system/security/step-up/send', { token, body: { mfaMethod: 'EMAIL', purpose } })
  const newestMail = async (email: string) => {
    const { text, html } = await portico.mailTo(email, 'step-up-code')
    return { text, html }
  }

  test('mfa.stepUpSend 200: the mail names a withdrawal, its amount and its payee', async () => {
    const purpose = withdrawal({})
    expect((await send(purpose)).status).toBe(200)
    const { text, html } = await newestMail(owner)
    expect(text).toContain('It confirms: Withdraw money (250.00 USD → ****3000)')
    expect(html).toContain('It confirms: Withdraw money (250.00 USD → ****3000)')
  })

  test.each([
    ['zh', '用于确认：提现 (250.00 USD → ****3000)'],
    ['zh-Hant', '用於確認：提領款項 (250.00 USD → ****3000)'],
    ['ja', '確認する操作：出金 (250.00 USD → ****3000)'],
    ['vi', 'Mã xác nhận thao tác: Rút tiền (250.00 USD → ****3000)'],
  ])('mfa.stepUpSend 200: the mail is in the language %s', async (language, expected) => {
    const purpose = withdrawal({})
    expect((await send(purpose, { 'x-locale': language })).status).toBe(200)
    expect((await newestMail(owner)).text).toContain(expected)
  })

  test('mfa.stepUpSend 200: names the role and the invitee of an invitation', async () => {
    const purpose = {
      operationId: 'invitations.create',
      email: 'nora@example.test',
      roleBizId: developmentIds.memberRole,
    }
    expect((await send(purpose)).status).toBe(200)
    expect((await newestMail(owner)).text).toContain('It confirms: Invite a person (Member → nora@example[.]test)')
    expect((await send({ ...purpose, roleBizId: unknownId })).status).toBe(404)
  })

  test('mfa.stepUpSend 200: names the target wallet of a transfer; a generic sentence without a purpose', async () => {
    const transfer = {
      operationId: 'transfers.create',
      sourceWalletBizId: mainUsd,
      targetWalletBizId: savingsUsd,
      amount: '5',
      currency: 'USD',
    }
    expect((await send(transfer)).status).toBe(200)
    expect((await newestMail(owner)).text).toContain(`Transfer money (5.00 USD → ${savingsUsd})`)
    expect((await send()).status).toBe(200)
    expect((await newestMail(owner)).text).toContain('It confirms: An operation that needs a second factor')
  })

  test('mfa.stepUpSend 200: an operator’s mail names the order’s amount and payee', async () => {
    expect((await sendAsOperator({ operationId: 'withdrawals.approve', withdrawal_id: order })).status).toBe(200)
    expect((await newestMail(operator)).text).toContain('Approve a withdrawal (250.00 USD → ****3000)')
    const verify = { operationId: 'withdrawalChannels.verify', withdrawal_channel_id: channel }
    expect((await sendAsOperator(verify)).status).toBe(200)
    expect((await newestMail(operator)).text).toContain('Verify an account for payouts (****3000)')
  })

  test('mfa.stepUpSend 200: the mail names the amount that arrived instead of the announced one', async () => {
    const recharge = { walletBizId: mainUsd, channelCode: 'CARD_USD', amount: '100.00' }
    const { bizId } = (await web('/recharges', recharge)).body.data
    const purpose = { operationId: 'recharges.confirm', recharge_id: bizId }
    for (const [changed, shown] of [
      [{}, '100.00'],
      [{ receivedAmount: '90' }, '90.00'],
    ] as const) {
      expect((await sendAsOperator({ ...purpose, ...changed })).status).toBe(200)
      expect((await newestMail(operator)).text).toContain(`Confirm a recharge (${shown} USD → ${mainUsd})`)
    }
    const tooExact = await sendAsOperator({ ...purpose, receivedAmount: '90.001' })
    expect([tooExact.status, tooExact.body.code]).toEqual(invalidParameter)
  })

  test.each([
    ['an unknown operation', () => ({ operationId: 'Send money to mallory.example' }), invalidParameter],
    ['an operation of the other portal', () => ({ operationId: 'withdrawals.approve' }), invalidParameter],
    ['an operation that needs no step-up', () => ({ operationId: 'profile.read' }), invalidParameter],
    ['free text', () => withdrawal({ payee: 'your own account' }), invalidParameter],
    ['a missing wallet', () => withdrawal({ walletBizId: undefined }), invalidParameter],
    ['a missing amount', () => withdrawal({ amount: undefined }), invalidParameter],
    ['an amount that is not one', () => withdrawal({ amount: '1e3' }), invalidParameter],
    ['an amount that the currency does not have', () => withdrawal({ amount: '1.001' }), invalidParameter],
    [
      'a workspace for an operation without one',
      () => ({ operationId: 'mfa.otpSetup', workspaceBizId: workspace }),
      invalidParameter,
    ],
    ['an unknown wallet', () => withdrawal({ walletBizId: unknownId }), [404, 'RESOURCE.NOT_FOUND']],
    ['an unknown payee', () => withdrawal({ withdrawalChannelBizId: unknownId }), [404, 'RESOURCE.NOT_FOUND']],
    ['a foreign workspace', () => withdrawal({ workspaceBizId: unknownId }), [403, 'ACCESS.PERMISSION_DENIED']],
  ])('mfa.stepUpSend refuses %s, and sends no mail', async (_name, purpose, expected) => {
    // Count only codes, because notices can arrive at any time.
    const codes = async () => (await portico.mailsTo(owner)).filter(({ template }) => template === 'step-up-code')
    const before = await codes()
    const { status, body } = await send(purpose())
    expect([status, body.code]).toEqual(expected)
    expect(await codes()).toEqual(before)
  })

  test('mfa.stepUpSend 404 for a wallet and a member’s order of strangers; 403 without the permission', async () => {
    const stranger = await newcomer(portico, client(portico))
    const foreign = withdrawal({})
    const asStranger = await stranger.by.post(
      '/security/step-up/send',
      { mfaMethod: 'EMAIL', purpose: foreign },
      stranger.token,
    )
    expect([asStranger.status, asStranger.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const byMember = await send(withdrawal({ orderBizId: order }))
    expect([byMember.status, byMember.body.code]).toEqual(invalidParameter)
    const { accessToken } = await signIn(portico, 'member@demo.test')
    const denied = await portico.call('POST', '/web/v1/consumer/security/step-up/send', {
      token: accessToken,
      body: { mfaMethod: 'EMAIL', purpose: { ...foreign, workspaceBizId: workspace } },
    })
    expect([denied.status, denied.body.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    const unknown = await sendAsOperator({ operationId: 'withdrawals.approve', withdrawal_id: unknownId })
    expect([unknown.status, unknown.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })
})
