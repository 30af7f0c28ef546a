import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainValue } from '../../src/platform/mail/plain-values.ts'
import { developmentIds } from '../../src/seed/development.ts'
import type { Call } from '../harness/http.ts'
import { data, goodPassword, newcomer, otherPassword, refusal } from '../harness/identity.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type DevelopmentMail, type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

const { workspace, mainUsd } = developmentIds
const owner = 'owner@demo.test'
const maxPerDay = 4

describe('notices to owners', () => {
  let portico: Portico
  let token: string
  let operator: string
  let second: Awaited<ReturnType<typeof newcomer>>

  const web = async (method: string, path: string, call: Call = {}) =>
    data(await portico.call(method, `/web/v1/consumer${path}`, { token, workspace, ...call }))
  const system = async (path: string, headers: Record<string, string> = {}, body?: object) =>
    data(await portico.call('POST', `/web/v1/system${path}`, { token: operator, headers, ...(body && { body }) }))
  const noticesTo = async (email: string, text: string): Promise<DevelopmentMail[]> =>
    (await portico.mailsTo(email)).filter(
      (mail) => mail.template === 'members.workspace-notice' && mail.text.includes(text),
    )
  const counts = (text: string) => async () => [
    (await noticesTo(owner, text)).length,
    (await noticesTo(second.email, text)).length,
  ]
  const expectOneEach = (text: string) => expect.poll(counts(text)).toEqual([1, 1])

  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.notices.maxPerDay = maxPerDay
      },
    })
    token = (await signIn(portico)).accessToken
    operator = (await signIn(portico, 'operator@demo.test')).accessToken
    second = await newcomer(portico)
    const roles: { bizId: string; roleType: { code: string } }[] = await web('GET', '/roles')
    const ownerRole = roles.find(({ roleType }) => roleType.code === 'OWNER')
    const body = { email: second.email, roleBizId: ownerRole?.bizId }
    const { bizId: invitationBizId } = await web('POST', '/invitations', { body })
    data(await second.by.post('/profile/invitations/accept', { invitationBizId }, second.token))
  })
  afterAll(() => portico?.stop())

  test('invitations.accept 200: each owner learns about a new owner', async () => {
    await expectOneEach('A member has become an owner.')
    const [mail] = await noticesTo(owner, 'A member has become an owner.')
    expect(mail?.text).toContain(`Subject: ${plainValue(second.email)}`)
    expect(mail?.text).toContain(`By: ${plainValue(owner)}`)
    expect(mail?.text).toContain('Contact support immediately.')
  })

  test('apiKeys.create 200: each owner gets one notice with the public part of the key', async () => {
    const body = { apiKeyName: 'https://evil.example', permissionCodes: ['wallet:read'] }
    const { keyPrefix, secret } = await web('POST', '/api-keys', { body })
    await expectOneEach(keyPrefix)
    const [mail] = await noticesTo(owner, keyPrefix)
    expect(mail?.text).not.toContain(secret)
    expect(`${mail?.text}${mail?.html}`).not.toContain('evil.example')
  })

  test('withdrawals: each step informs each owner once, also if the command is repeated', async () => {
    const once = { 'x-request-id': randomUUID() }
    const body = payoutAccount()
    const channel = await web('POST', '/withdrawal-channels', { headers: once, body })
    await web('POST', '/withdrawal-channels', { headers: once, body })
    await system(`/withdrawal-channels/${channel.bizId}/verify`)
    await expectOneEach('A new payout account has been registered.')
    await expectOneEach('A payout account has been verified.')

    const order = { walletBizId: mainUsd, withdrawalChannelBizId: channel.bizId, amount: '123.00' }
    const requested = await web('POST', '/withdrawals', { headers: once, body: order })
    expect(await web('POST', '/withdrawals', { headers: once, body: order })).toEqual(requested)
    const approval = { 'x-request-id': randomUUID() }
    for (let time = 0; time < 2; time++) await system(`/withdrawals/${requested.bizId}/approve`, approval)
    const completion = { 'x-request-id': randomUUID() }
    for (let time = 0; time < 2; time++) await system(`/withdrawals/${requested.bizId}/complete`, completion)
    const events = ['requested.', 'approved. Its payout is in progress.', 'paid out.']
    for (const event of events) await expectOneEach(`A withdrawal has been ${event}`)
    const [mail] = await noticesTo(owner, 'A withdrawal has been approved.')
    expect(mail?.text).toContain('Subject: 123.00 USD')
    expect(mail?.text).toContain('By: Support team')
    // A second job for the same step would run before this one.
    await web('POST', '/withdrawals', { body: { ...order, amount: '17.00' } })
    await expectOneEach('Subject: 17.00 USD')
    for (const event of events.slice(1)) expect(await counts(`A withdrawal has been ${event}`)()).toEqual([1, 1])
  })

  test('withdrawals.create 200: a loop sends at most `notices.maxPerDay` mails per owner', async () => {
    const [channel] = await web('GET', '/withdrawal-channels')
    const order = { walletBizId: mainUsd, withdrawalChannelBizId: channel.bizId, amount: '10.00' }
    for (let time = 0; time < maxPerDay + 2; time++) await web('POST', '/withdrawals', { body: order })
    const body = { apiKeyName: 'Later', permissionCodes: ['wallet:read'] }
    const { keyPrefix } = await web('POST', '/api-keys', { body })
    await expectOneEach(keyPrefix)
    expect(await counts('A withdrawal has been requested.')()).toEqual([maxPerDay, maxPerDay])
  })

  test('the metrics and the log count notices above the limit', async () => {
    const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
    const dropped = /^portico_jobs_dropped_total\{kind="members.ownerNotice",reason="limit"\} (\d+)$/m.exec(text)?.[1]
    const lines = portico.rawLog.filter((line) => line.includes('job dropped') && line.includes('members.ownerNotice'))
    expect(Number(dropped)).toBeGreaterThan(0)
    expect(lines).toHaveLength(Number(dropped))
  })

  test('roles.setPermissions 200, roles.changeMember 200: owners learn about further rights', async () => {
    const role = await web('POST', '/roles', { body: { roleName: 'Clerk', permissionCodes: ['wallet:read'] } })
    const permissionCodes = (codes: string[]) =>
      web('POST', '/roles/permissions', { body: { roleBizId: role.bizId, permissionCodes: codes } })
    await permissionCodes(['wallet:read'])
    await permissionCodes(['wallet:read', 'withdrawal:create'])
    await expectOneEach('A role has got further permissions.')

    const change = { userBizId: second.accountId, roleBizId: role.bizId }
    await web('POST', '/roles/members/role/change', { body: change })
    await expectOneEach('An owner has lost this role.')
    const other = await web('POST', '/roles', {
      body: { roleName: 'Payer', permissionCodes: ['wallet:read', 'withdrawal:create', 'transfer:create'] },
    })
    await web('POST', '/roles/members/role/change', { body: { ...change, roleBizId: other.bizId } })
    const widened = 'A member has got a role with further permissions.'
    await expect.poll(counts(widened)).toEqual([1, 0])
  })

  test('workspaces.limitMember 200, proposals.confirm 200: an owner learns who lost and got the ownership', async () => {
    const [founder, stranger] = [await newcomer(portico), await newcomer(portico)]
    const [{ workspaceBizId }] = data(await founder.by.get('/workspaces/mine', founder.token))
    const at = `/workspaces/${workspaceBizId}`
    const limit = { userBizId: founder.accountId, policyConfig: { enterable: false }, reason: 'a court order' }
    await system(`${at}/members/policy`, {}, limit)
    const mails = (text: string) => async () => (await noticesTo(founder.email, text)).length
    await expect.poll(mails('Support has limited the rights of an owner.'), { timeout: 10_000 }).toBe(1)
    const proposed = await system(`${at}/owner/propose`, {}, { userBizId: stranger.accountId, reason: 'lost access' })
    const checker = (await signIn(portico, 'checker@demo.test')).accessToken
    data(await portico.call('POST', `/web/v1/system/proposals/${proposed.bizId}/confirm`, { token: checker }))
    await expect.poll(mails('A member has become an owner.'), { timeout: 10_000 }).toBe(1)
    const [mail] = await noticesTo(founder.email, 'A member has become an owner.')
    expect(mail?.text).toContain('By: Support team')
  })

  test('password.change 401: mails each wrong password to the account, up to the daily limit', async () => {
    const at = await newcomer(portico)
    const body = { currentPassword: otherPassword, newPassword: 'quartz~Ribbon~Falcon~36' }
    for (let time = 0; time < maxPerDay + 2; time++)
      expect(refusal(await at.by.post('/auth/password/change', body, at.token))[0]).toBe(401)
    data(await at.by.post('/auth/password/change', { ...body, currentPassword: goodPassword }, at.token))
    const mails = async (template: string) =>
      (await portico.mailsTo(at.email)).filter((mail) => mail.template === template)
    await expect.poll(async () => (await mails('security-change')).at(0)?.text).toContain('has been changed')
    const failed = await mails('confirmation-failed')
    expect(failed).toHaveLength(maxPerDay)
    expect(failed[0]?.text).toContain(at.by.ip)
    expect(failed[0]?.text).toContain('If it was not you')
  })
})
