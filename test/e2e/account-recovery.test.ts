import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import type { Answer, Call } from '../harness/http.ts'
import { client, data, goodPassword, linkToken, newcomer, otherPassword, refusal } from '../harness/identity.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn, signInOnly } from '../harness/sign-in.ts'

const { workspace, mainUsd } = developmentIds
const owner = 'owner@demo.test'
const conflict = [409, 'STATE.CONFLICT']

describe('account recovery', () => {
  let portico: Portico
  let operator: string
  beforeAll(async () => {
    portico = await startPortico()
    operator = (await signIn(portico, 'operator@demo.test')).accessToken
  })
  afterAll(() => portico?.stop())

  let password: string | undefined
  const web = (token: string, method: string, path: string, call: Call = {}) =>
    portico.call(method, `/web/v1/consumer${path}`, { token, workspace, ...call })
  const system = (method: string, path: string) => portico.call(method, `/web/v1/system${path}`, { token: operator })
  const use = (secret: string): Promise<Answer> =>
    portico.call('GET', '/api/v1/consumer/wallets', { headers: { authorization: `Bearer ${secret}` } })

  const reset = async (): Promise<void> => {
    const by = client(portico)
    const links = (await portico.mailsTo(owner)).filter(({ template }) => template === 'password-reset').length
    data(await by.post('/auth/password/forgot', { email: owner, turnstileToken: '' }))
    const linksSent = async () =>
      (await portico.mailsTo(owner)).filter(({ template }) => template === 'password-reset').length
    await expect.poll(linksSent).toBe(links + 1)
    const token = linkToken((await portico.mailTo(owner, 'password-reset')).text)
    password = password === goodPassword ? otherPassword : goodPassword
    data(await by.post('/auth/password/reset', { token, newPassword: password }))
  }
  const enter = async (how = signIn): Promise<string> => (await how(portico, owner, {}, password)).accessToken

  const createKey = async (token: string, apiKeyName: string) =>
    data(await web(token, 'POST', '/api-keys', { body: { apiKeyName, permissionCodes: ['wallet:read'] } }))
  const keyCommand = (token: string, command: string, apiKeyBizId: string) =>
    web(token, 'POST', `/api-keys/${command}`, { body: { apiKeyBizId } })

  test('password.reset 200: suspends the API keys until each is enabled with a step-up', async () => {
    const before = await enter()
    const [active, disabled] = [await createKey(before, 'Active'), await createKey(before, 'Disabled')]
    data(await keyCommand(before, 'disable', disabled.bizId))
    expect((await use(active.secret)).status).toBe(200)
    await reset()
    expect(refusal(await use(active.secret))).toEqual([401, 'ACCESS.TOKEN_INVALID'])

    const token = await enter(signInOnly)
    for (const { bizId } of [active, disabled]) {
      expect(data(await web(token, 'GET', `/api-keys/${bizId}`)).apiKeyStatus).toMatchObject({
        code: 'SUSPENDED',
        value: 10091205,
      })
      expect(refusal(await keyCommand(token, 'enable', bizId))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
      expect(refusal(await keyCommand(token, 'disable', bizId))).toEqual(conflict)
    }
    const listed = data(await web(token, 'GET', '/api-keys?apiKeyStatus=SUSPENDED'))
    expect(listed.items.map((key: { bizId: string }) => key.bizId).sort()).toEqual(
      [active.bizId, disabled.bizId].sort(),
    )
    const steppedUp = await enter()
    expect(data(await keyCommand(steppedUp, 'enable', active.bizId)).apiKeyStatus.code).toBe('ACTIVE')
    expect((await use(active.secret)).status).toBe(200)
    expect(data(await keyCommand(steppedUp, 'delete', disabled.bizId)).apiKeyStatus.code).toBe('DELETED')
  })

  test('password.reset 200: a new payout account gets no payout until it is confirmed', async () => {
    const before = await enter()
    const body = payoutAccount()
    const channel = data(await web(before, 'POST', '/withdrawal-channels', { body }))
    data(await system('POST', `/withdrawal-channels/${channel.bizId}/verify`))
    const pending = data(await web(before, 'POST', '/withdrawal-channels', { body: payoutAccount() }))
    const order = { walletBizId: mainUsd, withdrawalChannelBizId: channel.bizId, amount: '100.00' }
    const requested = data(await web(before, 'POST', '/withdrawals', { body: order }))
    await reset()

    const unavailable = [422, 'CHANNEL.NOT_AVAILABLE']
    expect(refusal(await system('POST', `/withdrawals/${requested.bizId}/approve`))).toEqual(unavailable)
    expect(refusal(await system('POST', `/withdrawal-channels/${pending.bizId}/verify`))).toEqual(conflict)
    const reactivate = (token: string, id: string) => web(token, 'POST', `/withdrawal-channels/${id}/reactivate`)
    const withoutStepUp = await enter(signInOnly)
    expect(refusal(await web(withoutStepUp, 'POST', '/withdrawals', { body: order }))).toEqual(unavailable)
    expect(refusal(await reactivate(withoutStepUp, channel.bizId))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    const suspended = data(await web(withoutStepUp, 'GET', '/withdrawal-channels?channelStatus=SUSPENDED'))
    expect(suspended).toHaveLength(2)
    const sameAccount = await web(await enter(), 'POST', '/withdrawal-channels', { body })
    expect(refusal(sameAccount)).toEqual(conflict)

    const token = await enter()
    expect(data(await reactivate(token, channel.bizId)).channelStatus.code).toBe('ACTIVE')
    expect(data(await reactivate(token, pending.bizId)).channelStatus.code).toBe('PENDING_VERIFICATION')
    expect(refusal(await reactivate(token, channel.bizId))).toEqual(conflict)
    expect(refusal(await reactivate(token, developmentIds.workspace))).toEqual([404, 'RESOURCE.NOT_FOUND'])
    data(await system('POST', `/withdrawals/${requested.bizId}/approve`))
    data(await web(token, 'POST', '/withdrawals', { body: order }))
  })

  test('withdrawalChannels.reject 200: an operator disables a suspended payout account', async () => {
    const channel = data(await web(await enter(), 'POST', '/withdrawal-channels', { body: payoutAccount() }))
    await reset()
    const rejected = await portico.call('POST', `/web/v1/system/withdrawal-channels/${channel.bizId}/reject`, {
      token: operator,
      body: { reason: 'reported as stolen' },
    })
    expect(data(rejected).channelStatus.code).toBe('DISABLED')
  })

  test('password.reset 200: suspends sent invitations until each is confirmed with a step-up', async () => {
    const invitee = await newcomer(portico)
    const before = await enter()
    const [role] = data(await web(before, 'GET', '/roles'))
    const invite = { email: invitee.email, roleBizId: role.bizId }
    const { bizId: invitationBizId } = data(await web(before, 'POST', '/invitations', { body: invite }))
    await reset()
    const accept = () => invitee.by.post('/profile/invitations/accept', { invitationBizId }, invitee.token)
    expect(refusal(await accept())).toEqual(conflict)
    const withoutStepUp = await enter(signInOnly)
    const confirm = (token: string) => web(token, 'POST', '/invitations/confirm', { body: { invitationBizId } })
    expect(refusal(await confirm(withoutStepUp))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    const suspended = data(await web(withoutStepUp, 'GET', '/invitations?invitationStatus=SUSPENDED'))
    expect(suspended).toMatchObject([{ bizId: invitationBizId, invitationStatus: { value: 10091306 } }])
    const token = await enter()
    expect(refusal(await web(token, 'POST', '/invitations', { body: invite }))).toEqual(conflict)
    expect(data(await confirm(token)).invitationStatus.code).toBe('PENDING')
    expect(refusal(await confirm(token))).toEqual(conflict)
    expect(data(await accept()).invitationStatus.code).toBe('ACCEPTED')
  })

  test('operators.terminateAccountSessions 200: suspends the credentials, too', async () => {
    const at = await newcomer(portico)
    const body = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
    const { secret } = data(await at.by.post('/api-keys', body, at.token))
    const ended = data(await system('POST', `/accounts/${at.accountId}/sessions/terminate`))
    const suspendedCredentials = {
      apiKeys: 1,
      invitations: 0,
      members: 0,
      roles: 0,
      webhooks: 0,
      withdrawalChannels: 0,
    }
    expect(ended).toEqual({ success: true, terminatedSessions: 1, suspendedCredentials })
    expect(refusal(await use(secret))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    const { items } = data(await system('GET', `/audit-log?action=operators.terminateAccountSessions`))
    expect(items[0].detail).toMatchObject({ terminatedSessions: 1, 'suspended.apiKeys': 1 })
  })

  test('operators.suspendAccount 200: its key and session do not work until it is reactivated, and its invitation ends', async () => {
    const [at, invitee] = [await newcomer(portico), await newcomer(portico)]
    const body = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
    const { secret, workspaceBizId } = data(await at.by.post('/api-keys', body, at.token))
    const within = { 'x-workspace-id': workspaceBizId }
    const [role] = data(await at.by.get('/roles', at.token, within))
    const invite = { email: invitee.email, roleBizId: role.bizId }
    const { bizId: invitationBizId } = data(await at.by.post('/invitations', invite, at.token, within))
    const accept = () => invitee.by.post('/profile/invitations/accept', { invitationBizId }, invitee.token)
    const change = (command: string, reason?: object) =>
      portico.call('POST', `/web/v1/system/accounts/${at.accountId}/${command}`, { token: operator, body: reason })
    data(await change('suspend', { reason: 'under review' }))
    const invalidToken = [401, 'ACCESS.TOKEN_INVALID']
    // Another process learns of it within a second.
    await expect.poll(async () => refusal(await use(secret))).toEqual(invalidToken)
    await expect.poll(async () => refusal(await at.by.get('/profile', at.token))).toEqual(invalidToken)
    expect(refusal(await accept())).toEqual(conflict)
    data(await change('reactivate'))
    await expect.poll(async () => (await use(secret)).status).toBe(200)
    expect(refusal(await at.by.get('/profile', at.token))).toEqual(invalidToken)
    expect(refusal(await accept())).toEqual(conflict)
  })

  test('password.change 200: suspends the credentials if the caller asks for it', async () => {
    const at = await newcomer(portico)
    const create = async (apiKeyName: string) =>
      data(await at.by.post('/api-keys', { apiKeyName, permissionCodes: ['wallet:read'] }, at.token))
    const { secret } = await create('Till')
    const change = async (body: object) => data(await at.by.post('/auth/password/change', body, at.token))
    const kept = await change({ currentPassword: goodPassword, newPassword: otherPassword })
    expect(kept).not.toHaveProperty('suspendedCredentials')
    expect((await use(secret)).status).toBe(200)
    const changed = { currentPassword: otherPassword, newPassword: goodPassword, suspendCredentials: true }
    expect((await change(changed)).suspendedCredentials).toEqual({
      apiKeys: 1,
      invitations: 0,
      members: 0,
      roles: 0,
      webhooks: 0,
      withdrawalChannels: 0,
    })
    expect(refusal(await use(secret))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })
})
