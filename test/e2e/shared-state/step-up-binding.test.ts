import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { domain } from '../../../src/api/index.ts'
import { amount } from '../../../src/contract/fields.ts'
import { own } from '../../../src/contract/policies.ts'
import { operation } from '../../../src/kernel/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { send as sendDirectly } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { startPortico } from '../../harness/portico.ts'
import { inMode, type PorticoInMode, sessionModes } from '../../harness/session-modes.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { codeIn, signInOnly } from '../../harness/sign-in.ts'

const { workspace, mainUsd } = developmentIds
const owner = 'owner@demo.test'
const legacy = '/web/v1/consumer/legacy'
const required = [403, 'ACCESS.STEP_UP_REQUIRED']

const gifts = domain({
  name: 'gifts',
  summary: 'Gifts.',
  operations: {
    sendGift: operation({
      id: 'gifts.send',
      method: 'POST',
      path: '/gifts',
      chains: ['consumer'],
      summary: 'Send a gift',
      policy: { ...own, stepUp: true },
      confirms: ['amount', 'email'],
      purpose: ({ amount, email }) => ({ amount, currency: 'EUR', payee: { email } }),
      body: z.strictObject({ amount, email: z.email() }),
      reply: z.null(),
      refuses: [],
    }),
  },
  create: () => ({ handlers: { sendGift: async () => null } }),
})

describe.each(sessionModes)('a step-up with mfa.binding: purpose, by %s', needsStore(), (mode) => {
  let portico: PorticoInMode
  let token: string
  let elsewhere: string
  let target: string
  let otherTarget: string
  const service = createServer((request, response) => response.end(request.url))
  beforeAll(async () => {
    await once(service.listen(0, '127.0.0.1'), 'listening')
    const started = await startPortico({
      domains: [gifts],
      adjust: (settings) => {
        settings.login.resendMs = 0
        settings.mfa.binding = 'purpose'
        settings.backends = { ...settings.backends, gifts: 'in-process' }
        settings.passThrough = [
          {
            ...upstreamAt(`http://127.0.0.1:${(service.address() as AddressInfo).port}`, { audience: 'legacy' }),
            prefix: legacy,
            methods: ['GET'],
            policy: { ...own, stepUp: true },
            requestHeaders: [],
            responseHeaders: [],
          },
        ]
        settings.money.stepUpAbove = { currency: 'USD', amount: '1.00', apiKeys: 'refuse' }
      },
    })
    portico = inMode(started, mode)
    token = (await signInOnly(portico)).accessToken
    elsewhere = (await post('/workspaces', { workspaceName: 'Elsewhere' })).body.data.bizId
    target = await usdWalletOf(elsewhere)
    otherTarget = await usdWalletOf((await post('/workspaces', { workspaceName: 'Third' })).body.data.bizId)
  })
  afterAll(async () => {
    await portico?.stop()
    service.close()
  })

  interface By {
    token?: string
    id?: string
    workspace?: string
  }
  const post = (path: string, body?: object, by: By = {}) =>
    portico.call('POST', `/web/v1/consumer${path}`, {
      token: by.token ?? token,
      workspace: by.workspace ?? workspace,
      headers: { 'x-request-id': by.id ?? randomUUID() },
      ...(body && { body }),
    })
  const usdWalletOf = async (of: string): Promise<string> => {
    const { body } = await portico.call('GET', '/web/v1/consumer/wallets', { token, workspace: of })
    return body.data.find(({ currency }: { currency: string }) => currency === 'USD').bizId
  }
  const outcome = ({ status, body }: Awaited<ReturnType<typeof post>>) =>
    status === 200 ? 200 : [status, body.code, ...(body.code.startsWith('VALIDATION') ? [body.message] : [])]
  const transferOf = (changed: object = {}) => ({
    sourceWalletBizId: mainUsd,
    targetWalletBizId: target,
    amount: '5.00',
    currency: 'USD',
    ...changed,
  })
  const transfer = (changed: object = {}, by: By = {}) => post('/transfer/command/create', transferOf(changed), by)
  const send = (purpose?: object, by: By = {}) => post('/security/step-up/send', { mfaMethod: 'EMAIL', purpose }, by)
  const mailedCode = async () => codeIn((await portico.mailTo(owner, 'step-up-code')).text)
  const verify = (code: string, purpose?: object, by: By = {}) =>
    post('/security/step-up', { mfaMethod: 'EMAIL', code, purpose }, by)
  const confirm = async (purpose: object, by: By = {}): Promise<void> => {
    const sent = await send(purpose, by)
    if (sent.status !== 200) throw new Error(sent.text)
    const verified = await verify(await mailedCode(), purpose, by)
    if (verified.status !== 200) throw new Error(verified.text)
  }
  const confirmTransfer = (changed: object = {}, by?: By) =>
    confirm({ operationId: 'transfers.create', ...transferOf(changed) }, by)

  test('mfa.stepUpSend, mfa.stepUp 400: without a purpose', async () => {
    expect((await send()).body).toMatchObject({ code: 'VALIDATION.INVALID_PARAMETER' })
    expect((await send()).body.message).toContain('purpose')
    expect((await verify('123456')).body.message).toContain('purpose')
  })

  test('transfers.create 200: once, for exactly the confirmed payee and amount', async () => {
    expect(outcome(await transfer())).toEqual(required)
    await confirmTransfer()
    expect(outcome(await transfer({ amount: '5.01' }))).toEqual(required)
    expect(outcome(await transfer({ amount: '5' }))).toEqual(required)
    expect(outcome(await transfer({ targetWalletBizId: otherTarget }))).toEqual(required)
    expect(outcome(await transfer())).toBe(200)
    expect(outcome(await transfer())).toEqual(required)
  })

  test('transfers.create 200: the remark is not part of the purpose', async () => {
    await confirmTransfer({ amount: '5.10' })
    expect(outcome(await transfer({ amount: '5.10', remark: 'Rent' }))).toBe(200)
  })

  test('transfers.create 200: a retry with the same X-Request-Id replays; a changed body is refused', async () => {
    await confirmTransfer({ amount: '5.20' })
    const id = randomUUID()
    const first = await transfer({ amount: '5.20' }, { id })
    const again = await transfer({ amount: '5.20' }, { id })
    expect(again.body.data).toEqual(first.body.data)
    expect(outcome(first)).toBe(200)
    expect(outcome(await transfer({ amount: '5.20', remark: 'x' }, { id }))).not.toBe(200)
  })

  test('transfers.create 403: for another workspace, and another session of the same account', async () => {
    await confirmTransfer({ amount: '5.30' })
    const other = (await signInOnly(portico)).accessToken
    expect(outcome(await transfer({ amount: '5.30' }, { token: other }))).toEqual(required)
    const reversed = { sourceWalletBizId: target, targetWalletBizId: mainUsd, amount: '1.50' }
    expect(outcome(await send({ operationId: 'transfers.create', ...transferOf(reversed) }))).toEqual([
      404,
      'RESOURCE.NOT_FOUND',
    ])
    const role = { roleName: 'Reader', permissionCodes: ['wallet:read'] }
    const created = await post('/roles', role, { workspace: elsewhere })
    const codes = {
      operationId: 'roles.setPermissions',
      roleBizId: created.body.data.bizId,
      permissionCodes: ['wallet:read', 'invitation:manage'],
    }
    await confirm({ ...codes, workspaceBizId: elsewhere })
    const { roleBizId, permissionCodes } = codes
    expect(outcome(await post('/roles/permissions', { roleBizId, permissionCodes }))).toEqual(required)
    expect(outcome(await post('/roles/permissions', { roleBizId, permissionCodes }, { workspace: elsewhere }))).toBe(
      200,
    )
    expect(outcome(await transfer({ amount: '5.30' }))).toBe(200)
  })

  test('transfers.create 200: one of many parallel commands', async () => {
    await confirmTransfer({ amount: '5.40' })
    const parallel = await Promise.all(Array.from({ length: 12 }, () => transfer({ amount: '5.40' })))
    expect(parallel.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(parallel.filter(({ body }) => body.code === required[1])).toHaveLength(11)
  })

  test('mfa.stepUp 401: a code that was mailed for another amount or payee', async () => {
    const mailed = { operationId: 'transfers.create', ...transferOf({ amount: '5.50' }) }
    await send(mailed)
    const code = await mailedCode()
    for (const changed of [{ amount: '500.00' }, { targetWalletBizId: otherTarget }])
      expect(outcome(await verify(code, { ...mailed, ...changed }))).toEqual([401, 'AUTH.CODE_INVALID'])
    expect(outcome(await verify(code, mailed))).toBe(200)
    expect(outcome(await verify(code, mailed))).toEqual([401, 'AUTH.CODE_INVALID'])
    expect(outcome(await transfer({ amount: '500.00' }))).toEqual(required)
  })

  test('withdrawalChannels.create 403: for another account number; {} stays 400', async () => {
    const account = payoutAccount()
    await confirm({ operationId: 'withdrawalChannels.create', ...account })
    expect((await post('/withdrawal-channels', {})).status).toBe(400)
    expect(outcome(await post('/withdrawal-channels', payoutAccount()))).toEqual(required)
    expect(outcome(await post('/withdrawal-channels', account))).toBe(200)
  })

  test('apiKeys.create 403: for further permissions; the order of the codes has no meaning', async () => {
    const key = { apiKeyName: 'Till', permissionCodes: ['wallet:read', 'transfer:read'] }
    await confirm({ operationId: 'apiKeys.create', ...key })
    const more = [...key.permissionCodes, 'transfer:create']
    expect(outcome(await post('/api-keys', { ...key, permissionCodes: more }))).toEqual(required)
    const sorted = key.permissionCodes.toSorted()
    expect(outcome(await post('/api-keys', { ...key, permissionCodes: sorted }))).toBe(200)
    expect(outcome(await post('/api-keys', key))).toEqual(required)
  })

  test('mfa.generateBackupCodes, mfa.otpRevoke: each needs its own step-up', async () => {
    await confirm({ operationId: 'mfa.generateBackupCodes' })
    expect(outcome(await post('/security/mfa/otp/setup'))).toEqual(required)
    expect(outcome(await post('/security/mfa/backup-codes/generate'))).toBe(200)
    expect(outcome(await post('/security/mfa/backup-codes/generate'))).toEqual(required)
    expect(outcome(await post('/security/mfa/otp/revoke'))).toEqual([409, 'STATE.CONFLICT'])
  })

  test('withdrawals.approve 403: an operator confirms one order', async () => {
    const operator = (await signInOnly(portico, 'checker@demo.test')).accessToken
    const system = (path: string, body?: object) =>
      portico.call('POST', `/web/v1/system${path}`, { token: operator, ...(body && { body }) })
    const confirmAs = async (purpose: object) => {
      expect(outcome(await system('/security/step-up/send', { mfaMethod: 'EMAIL', purpose }))).toBe(200)
      const code = codeIn((await portico.mailTo('checker@demo.test', 'step-up-code')).text)
      expect(outcome(await system('/security/step-up', { mfaMethod: 'EMAIL', code, purpose }))).toBe(200)
    }
    const account = payoutAccount()
    await confirm({ operationId: 'withdrawalChannels.create', ...account })
    const { bizId: channel } = (await post('/withdrawal-channels', account)).body.data
    const verify = { operationId: 'withdrawalChannels.verify', withdrawal_channel_id: channel }
    expect(outcome(await system(`/withdrawal-channels/${channel}/verify`))).toEqual(required)
    await confirmAs(verify)
    expect(outcome(await system(`/withdrawal-channels/${channel}/verify`))).toBe(200)
    const order = async (amount: string): Promise<string> => {
      const command = { walletBizId: mainUsd, withdrawalChannelBizId: channel, amount }
      await confirm({ operationId: 'withdrawals.create', ...command })
      return (await post('/withdrawals', command)).body.data.bizId
    }
    const [one, two] = [await order('20.00'), await order('30.00')]
    await confirmAs({ operationId: 'withdrawals.approve', withdrawal_id: one })
    expect(outcome(await system(`/withdrawals/${two}/approve`))).toEqual(required)
    expect(outcome(await system(`/withdrawals/${one}/reject`, { reason: 'no' }))).toEqual(required)
    expect(outcome(await system(`/withdrawals/${one}/approve`))).toBe(200)
  })

  test('an extension’s operation 403: for another amount', async () => {
    // The audit watch of the harness knows only Portico's own operations.
    const give = (body: object) =>
      sendDirectly(portico.url, 'POST', '/web/v1/consumer/gifts', {
        headers: portico.credentials(token),
        workspace,
        body,
      })
    const gift = { amount: '12.50', email: 'ada@people.test' }
    await confirm({ operationId: 'gifts.send', ...gift })
    const { text } = await portico.mailTo(owner, 'step-up-code')
    expect(text).toContain('It confirms: Send a gift (12.50 EUR → ada@people[.]test)')
    expect(outcome(await give({ ...gift, amount: '13.00' }))).toEqual(required)
    expect(outcome(await give(gift))).toBe(200)
    expect(outcome(await give(gift))).toEqual(required)
  })

  test('a prefix that is passed through 403: for another target', async () => {
    const read = async (target: string) => {
      const { status, body, text } = await sendDirectly(portico.url, 'GET', `${legacy}${target}`, {
        headers: portico.credentials(token),
        workspace,
      })
      return status === 200 ? text : [status, body.code]
    }
    await confirm({ operationId: 'passThrough.legacy', method: 'GET', target: `${legacy}/statement?of=1` })
    expect(await read('/statement?of=2')).toEqual(required)
    expect(await read('/statement?of=1')).toBe('/statement?of=1')
    expect(await read('/statement?of=1')).toEqual(required)
  })

  test('transfers.create 403: /explain names the reason, and the audit log both steps', async () => {
    const reasonOf = async (changed: object, by: { token: string }) => {
      const id = randomUUID()
      // The replica that is asked is first in the list.
      const refused = await sendDirectly(portico.urls[0] ?? '', 'POST', '/web/v1/consumer/transfer/command/create', {
        workspace,
        headers: { ...portico.credentials(by.token), 'x-request-id': id },
        body: transferOf(changed),
      })
      expect(outcome(refused)).toEqual(required)
      const [explained] = await (await fetch(`${portico.operationsUrl}/explain/${id}`)).json()
      return explained?.internal
    }
    const fresh = { token: (await signInOnly(portico)).accessToken }
    expect(await reasonOf({ amount: '5.60' }, fresh)).toBe('no recent step-up')
    await confirmTransfer({ amount: '5.60' }, fresh)
    expect(await reasonOf({ amount: '5.61' }, fresh)).toBe('the recent step-ups have other purposes')
    expect(outcome(await transfer({ amount: '5.60' }, fresh))).toBe(200)
    expect(await reasonOf({ amount: '5.60' }, fresh)).toBe('the step-up for this purpose is spent')
    const auditor = (await signInOnly(portico, 'operator@demo.test')).accessToken
    const { body } = await portico.call('GET', '/web/v1/system/audit-log?action=mfa.stepUp&pageSize=100', {
      token: auditor,
    })
    const details = body.data.items.map(({ detail }: { detail: object }) => detail)
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(details).toContainEqual(
      expect.objectContaining({
        operation: 'transfers.create',
        amount: '5.60',
        targetWalletBizId: target,
        purposeDigest: digest,
      }),
    )
    expect(details).toContainEqual({ event: 'SPENT', operation: 'transfers.create', purposeDigest: digest })
    expect(JSON.stringify(details)).not.toMatch(/Ada Lovelace|ada@people/)
  })
})
