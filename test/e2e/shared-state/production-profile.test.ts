import { hash, randomUUID } from 'node:crypto'
import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../../src/banking/index.ts'
import { compareWithProduction } from '../../../src/config/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import {
  type Client,
  client,
  data,
  goodPassword,
  linkToken,
  newcomer,
  otherPassword,
  refusal,
  signInOnly,
} from '../../harness/identity.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { applyProductionRules } from '../../harness/production-rules.ts'
import { codeIn, signInOnly as signInOwner } from '../../harness/sign-in.ts'

const stepUpRequired = [403, 'ACCESS.STEP_UP_REQUIRED']
const held = [403, 'ACCESS.PAYOUT_HOLD']
const denied = [403, 'ACCESS.PERMISSION_DENIED']
const { mainUsd, mainEur } = developmentIds
const operatorEmail = 'operator-of-production@people.test'

interface Node {
  permissionCode: string
  children: Node[]
}
function codesIn(nodes: Node[]): string[] {
  return nodes.flatMap(({ permissionCode, children }) => [permissionCode, ...codesIn(children)])
}

interface Person {
  by: Client
  email: string
  token: string
}

describe("detours with production's rules", needsStore(), () => {
  let portico: Portico
  let owner: Person
  let operator: Person
  const backupCodes: string[] = []
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        applyProductionRules(settings)
        settings.login.resendMs = 0
      },
      prepare: async (variables) => {
        const names = ['--email', operatorEmail, '--name', 'Olga Operator', '--password-stdin', '--reason', 'a test']
        const { out, err } = await runCli(['operator', 'create', ...names], {}, variables, `${goodPassword}\n`)
        const codes = /backup codes .*: (.*)/.exec(out)?.[1]
        if (!codes) throw new Error(`${out}${err}`)
        backupCodes.push(...codes.split(' '))
      },
    })
    owner = await enter(client(portico), 'owner@demo.test', 'Portico-demo-2026')
    const by = client(portico, { chain: '/web/v1/system' })
    const { sessionId } = data(await by.post('/auth/login/initiate', { email: operatorEmail, password: goodPassword }))
    const code = backupCodes.pop()
    const done = await by.post('/auth/login/complete', { sessionId, mfaMethod: 'BACKUP_CODE', code })
    operator = { by, email: operatorEmail, token: data(done).accessToken }
  })
  afterAll(() => portico?.stop())

  const enter = async (by: Client, email: string, password: string): Promise<Person> => ({
    by,
    email,
    token: (await signInOnly(portico, by, email, password)).accessToken,
  })
  const stranger = () => newcomer(portico, client(portico), signInOnly)
  const inside = { 'x-workspace-id': developmentIds.workspace }
  const post = ({ by, token }: Person, path: string, body: object, headers: Record<string, string> = inside) =>
    by.post(path, body, token, { ...headers, 'x-request-id': randomUUID() })

  /** Steps up for one command, as the holder of the person's mailbox. */
  const confirm = async (as: Person, operationId: string, fields: object, workspaceBizId?: string): Promise<void> => {
    const purpose = { operationId, ...fields, ...(workspaceBizId && { workspaceBizId }) }
    data(await as.by.post('/security/step-up/send', { mfaMethod: 'EMAIL', purpose }, as.token))
    const code = codeIn((await portico.mailTo(as.email, 'step-up-code')).text)
    data(await as.by.post('/security/step-up', { mfaMethod: 'EMAIL', code, purpose }, as.token))
  }
  const asOperator = async (operationId: string, path: string, fields: object, body: object) => {
    const purpose = { operationId, ...fields }
    const factor = { mfaMethod: 'BACKUP_CODE', code: backupCodes.pop() }
    data(await operator.by.post('/security/step-up', { ...factor, purpose }, operator.token))
    return operator.by.post(path, body, operator.token)
  }
  const usdWalletOf = async ({ by, token }: Person): Promise<string> => {
    const wallets: { bizId: string; currency: string }[] = data(await by.get('/wallets', token))
    return wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
  }

  test('compareWithProduction: no rule is weaker than the default', () => {
    expect(compareWithProduction(portico.settings, bankingDomains, []).filter(({ isWeakened }) => isWeakened)).toEqual(
      [],
    )
    expect(portico.settings.access.payoutHoldMs).toBe(72 * 3_600_000)
    expect(portico.settings.money.stepUpAbove).toMatchObject({ currency: 'USD', amount: '5000.00' })
    expect(portico.settings.mfa.binding).toBe('purpose')
  })

  test('roles, invitations, withdrawalChannels, apiKeys 403: a bare session gives nobody a power', async () => {
    const permissionCodes = codesIn(data(await owner.by.get('/roles/permissions/tree', owner.token, inside)))
    const [owners] = data(await owner.by.get('/roles', owner.token, inside))
    const { email } = await stranger()
    for (const [path, body] of [
      ['/roles', { roleName: 'Everything', permissionCodes }],
      ['/roles', { roleName: 'One power', permissionCodes: ['transfer:create'] }],
      ['/invitations', { email, roleBizId: owners.bizId }],
      ['/withdrawal-channels', payoutAccount()],
      ['/api-keys', { apiKeyName: 'Till', permissionCodes: ['transfer:create'] }],
    ] as const)
      expect(refusal(await post(owner, path, body)), path).toEqual(stepUpRequired)
  })

  test('transfers, withdrawalChannels, apiKeys 403: a stranger whom two step-ups brought in is held', async () => {
    const permissionCodes = codesIn(data(await owner.by.get('/roles/permissions/tree', owner.token, inside)))
    const role = { roleName: 'Everything', permissionCodes }
    await confirm(owner, 'roles.create', role)
    expect(refusal(await post(owner, '/roles', { ...role, roleName: 'Else' }))).toEqual(stepUpRequired)
    const { bizId: roleBizId } = data(await post(owner, '/roles', role))
    const guest = await stranger()
    const invitation = { email: guest.email, roleBizId }
    await confirm(owner, 'invitations.create', invitation)
    expect(refusal(await post(owner, '/invitations', { ...invitation, email: 'x@people.test' }))).toEqual(
      stepUpRequired,
    )
    const { bizId } = data(await post(owner, '/invitations', invitation))
    data(await guest.by.post('/profile/invitations/accept', { invitationBizId: bizId }, guest.token))

    const transfer = {
      sourceWalletBizId: mainUsd,
      targetWalletBizId: await usdWalletOf(guest),
      amount: '19000.00',
      currency: 'USD',
    }
    const account = payoutAccount()
    const key = { apiKeyName: 'Stranger', permissionCodes: ['transfer:create'] }
    for (const [operationId, path, body] of [
      ['transfers.create', '/transfer/command/create', transfer],
      ['withdrawalChannels.create', '/withdrawal-channels', account],
      ['apiKeys.create', '/api-keys', key],
      ['roles.create', '/roles', { ...role, roleName: 'Further' }],
    ] as const) {
      await confirm(guest, operationId, body, developmentIds.workspace)
      expect(refusal(await post(guest, path, body)), path).toEqual(held)
    }
    const mailed = async () => (await portico.mailsTo(owner.email)).map(({ text }) => text).join()
    await expect.poll(mailed).toMatch(/A new member who can move money has joined/)
    expect(await mailed()).toContain('A role that can move money has been created')
  })

  test('mfa.stepUp 200: the audit log has the SHA-256 of the documented canonical form', async () => {
    const role = { roleName: 'Managers', permissionCodes: ['wallet:read', 'role:manage'] }
    await confirm(owner, 'roles.create', role, developmentIds.workspace)
    const text = `{"fields":{"permissionCodes":["role:manage","wallet:read"],"roleName":"Managers"},"operation":"roles.create","workspace":"${developmentIds.workspace}"}`
    data(await post(owner, '/roles', role))
    const { items } = data(await operator.by.get('/audit-log?action=mfa.stepUp&pageSize=100', operator.token))
    const events = (items as { detail: { purposeDigest?: string; event?: string } }[]).flatMap(({ detail }) =>
      detail.purposeDigest === hash('sha256', text) ? [detail.event] : [],
    )
    expect(new Set(events)).toEqual(new Set([undefined, 'SPENT']))
  })

  test('transfers.create 403 ACCESS.STEP_UP_REQUIRED: above one sum over all currencies', async () => {
    const guest = await stranger()
    const wallets: { bizId: string; currency: string }[] = data(await guest.by.get('/wallets', guest.token))
    const pay = (sourceWalletBizId: string, currency: string, amount: string) => {
      const targetWalletBizId = wallets.find((wallet) => wallet.currency === currency)?.bizId
      return post(owner, '/transfer/command/create', { sourceWalletBizId, targetWalletBizId, amount, currency })
    }
    expect(refusal(await pay(mainUsd, 'USD', '5000.01'))).toEqual(stepUpRequired)
    data(await pay(mainUsd, 'USD', '4990.00'))
    expect(refusal(await pay(mainUsd, 'USD', '10.01'))).toEqual(stepUpRequired)
    expect(refusal(await pay(mainEur, 'EUR', '10.01'))).toEqual(stepUpRequired)
    data(await pay(mainUsd, 'USD', '10.00'))
  })

  test('apiKeys.enable 403: without a step-up, and after an operator has disabled the key', async () => {
    const key = { apiKeyName: `Key ${randomUUID()}`, permissionCodes: ['wallet:read'] }
    await confirm(owner, 'apiKeys.create', key)
    const { bizId: apiKeyBizId } = data(await post(owner, '/api-keys', key))
    const enable = () => post(owner, '/api-keys/enable', { apiKeyBizId })
    data(await post(owner, '/api-keys/disable', { apiKeyBizId }))
    expect(refusal(await enable())).toEqual(stepUpRequired)
    await confirm(owner, 'apiKeys.enable', { apiKeyBizId })
    data(await enable())
    const reason = { reason: 'reported as stolen' }
    const path = `/api-keys/${apiKeyBizId}/disable`
    expect(refusal(await operator.by.post(path, reason, operator.token))).toEqual(stepUpRequired)
    data(await asOperator('apiKeys.disableAny', path, { api_key_id: apiKeyBizId }, reason))
    await confirm(owner, 'apiKeys.enable', { apiKeyBizId })
    expect(refusal(await enable())).toEqual(denied)
  })

  test('password.reset 200: a young authenticator neither binds nor survives it; 403 if its code is missing', async () => {
    const victim = await stranger()
    const setup = () => victim.by.post('/security/mfa/otp/setup', undefined, victim.token)
    const enroll = async () => {
      await confirm(victim, 'mfa.otpSetup', {})
      const { secret } = data(await setup())
      data(await victim.by.post('/security/mfa/otp/verify', { code: generateSync({ secret }) }, victim.token))
    }
    expect(refusal(await setup())).toEqual(stepUpRequired)
    await enroll()
    const by = client(portico)
    const { sessionId } = data(await by.post('/auth/login/initiate', { email: victim.email, password: goodPassword }))
    const mailed = await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    expect(refusal(mailed)).toEqual([403, 'AUTH.MFA_METHOD_NOT_ALLOWED'])
    data(await by.post('/auth/password/forgot', { email: victim.email, turnstileToken: '' }))
    const token = linkToken((await portico.mailTo(victim.email, 'password-reset')).text)
    data(await by.post('/auth/password/reset', { token, newPassword: otherPassword }))
    expect((await enter(by, victim.email, otherPassword)).token).toBeTypeOf('string')
  })

  test('auth.mfaSend 403 AUTH.MFA_METHOD_NOT_ALLOWED: an operator who decides gets no mailed code', async () => {
    const by = client(portico, { chain: '/web/v1/system' })
    const { sessionId } = data(await by.post('/auth/login/initiate', { email: operatorEmail, password: goodPassword }))
    const mailed = await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    expect(refusal(mailed)).toEqual([403, 'AUTH.MFA_METHOD_NOT_ALLOWED'])
  })
})

// In other topologies, another process has the settings of the domains.
describe("production's sum of outgoing money with exchanges: off and no rates", inTopology('embedded'), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        applyProductionRules(settings)
        settings.domains = { ...settings.domains, exchanges: 'off' }
        settings.money.exchange.rates = []
      },
    })
  })
  afterAll(() => portico?.stop())

  test('transfers.create 403 ACCESS.STEP_UP_REQUIRED: any amount that is not in the currency of the sum', async () => {
    const { accessToken: token } = await signInOwner(portico)
    const guest = await newcomer(portico, client(portico), signInOnly)
    const wallets: { bizId: string; currency: string }[] = data(await guest.by.get('/wallets', guest.token))
    const pay = (sourceWalletBizId: string, currency: string, amount: string) => {
      const targetWalletBizId = wallets.find((wallet) => wallet.currency === currency)?.bizId
      const body = { sourceWalletBizId, targetWalletBizId, amount, currency }
      const headers = { 'x-request-id': randomUUID() }
      return portico.call('POST', '/web/v1/consumer/transfer/command/create', { token, body, headers })
    }
    expect(refusal(await pay(mainEur, 'EUR', '0.01'))).toEqual(stepUpRequired)
    data(await pay(mainUsd, 'USD', '5000.00'))
    expect(refusal(await pay(mainUsd, 'USD', '0.01'))).toEqual(stepUpRequired)
  })
})
