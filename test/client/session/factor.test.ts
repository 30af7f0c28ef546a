import { afterEach, describe, expect, test, vi } from 'vitest'
import { type ClientOptions, createClient } from '../../../src/client/index.ts'
import { type Authenticator, passkeysOf } from '../../../src/client/passkeys/index.ts'
import { begun, completed, order, pair, sent, transfer } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const auth = '/web/v1/consumer/auth'
const security = '/web/v1/consumer/security'
const create = 'POST /web/v1/consumer/transfer/command/create'
const method = (code: string, value: number) => ({ code, value, label: code, description: '' })
const methods = [method('EMAIL', 10_011_001), method('OTP', 10_011_002), method('PASSKEY', 10_011_006)]
const again = { ...sent, maskedDestination: 'again@demo.test' }
const request = {
  challenge: 'challenge',
  timeout: 300_000,
  rpId: 'localhost',
  allowCredentials: [],
  userVerification: 'required',
}
const script: Record<string, Step | Step[]> = {
  [`POST ${auth}/login/initiate`]: ok({ ...begun, mfaMethods: methods }),
  [`POST ${auth}/login/mfa/send`]: [ok(sent), ok(again)],
  [`POST ${auth}/login/complete`]: ok(completed),
  [`POST ${auth}/passkey/options`]: ok(request),
  [`POST ${auth}/password/reset`]: refuse(403, 'ACCESS.STEP_UP_REQUIRED'),
  [`GET ${security}/mfa`]: ok(
    methods.map((mfaMethod) => ({ mfaMethod, isEnabled: true, isPrimary: false, verifiedAt: null })),
  ),
  [`POST ${security}/step-up/send`]: ok(sent),
  [`POST ${security}/step-up/passkey`]: ok(request),
  [`POST ${security}/step-up`]: ok({ success: true, expiresIn: 300 }),
  [create]: [refuse(403, 'ACCESS.STEP_UP_REQUIRED'), ok(order)],
}

const device: Authenticator = {
  isSupported: () => true,
  create: () => Promise.reject(new Error('unused')),
  get: async ({ challenge }) => ({
    id: 'key-1',
    rawId: 'key-1',
    type: 'public-key',
    response: { clientDataJSON: challenge, authenticatorData: 'data', signature: 'sig', userHandle: 'AAAA' },
  }),
}

type Prompt = NonNullable<ClientOptions<'CONSUMER'>['onStepUp']>['code']

function clientOf(code: Prompt = () => '123456') {
  return createClient({
    baseUrl: gateway.baseUrl,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    seal: 'none',
    retry: { firstDelayMs: 1 },
    passkeys: passkeysOf(device),
    onStepUp: { code, usePasskey: () => false },
  })
}

type Client = ReturnType<typeof clientOf>
type Code = Parameters<Client['signIn']>[0]['code']

const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026' }

/** Starts with a mail. */
function signIn(code: Code) {
  return clientOf().signIn({ ...credentials, code, attempts: 2, mfaMethod: 'EMAIL' })
}

const bodies = (end: string) => gateway.to(end).map(({ body }) => body)

describe('another factor in a sign-in', () => {
  test('without a passkey, the authenticator comes first and no mail is sent', async () => {
    gateway = await scriptedGateway(script)
    const code = vi.fn<Code>().mockResolvedValueOnce('123456')
    await clientOf().signIn({ ...credentials, code, usePasskey: () => false })
    expect(code.mock.calls).toEqual([[null, null, { mfaMethod: 'OTP', mfaMethods: ['EMAIL', 'OTP', 'PASSKEY'] }]])
    expect(bodies('/login/mfa/send')).toEqual([])
    expect(bodies('/login/complete')).toEqual([{ sessionId: 'pre-login', mfaMethod: 'OTP', code: '123456' }])
  })

  test('the prompt sees the factors, and the code is of the chosen one', async () => {
    gateway = await scriptedGateway(script)
    const code = vi.fn<Code>().mockResolvedValueOnce({ mfaMethod: 'OTP' }).mockResolvedValueOnce('123456')
    await signIn(code)
    const mfaMethods = ['EMAIL', 'OTP', 'PASSKEY']
    expect(code.mock.calls).toEqual([
      [sent, null, { mfaMethod: 'EMAIL', mfaMethods }],
      [null, null, { mfaMethod: 'OTP', mfaMethods }],
    ])
    expect(bodies('/login/complete')).toEqual([{ sessionId: 'pre-login', mfaMethod: 'OTP', code: '123456' }])
  })

  test('EMAIL again sends a new code, and a refusal of it keeps the previous one', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/login/mfa/send`]: [ok(sent), ok(again), refuse(429, 'ACCESS.RATE_LIMITED')],
    })
    const code = vi
      .fn<Code>()
      .mockResolvedValueOnce({ mfaMethod: 'EMAIL' })
      .mockResolvedValueOnce({ mfaMethod: 'EMAIL' })
      .mockResolvedValueOnce('123456')
    await signIn(code)
    expect(code.mock.calls.map(([delivery, refused]) => [delivery, refused?.code])).toEqual([
      [sent, undefined],
      [again, undefined],
      [again, 'ACCESS.RATE_LIMITED'],
    ])
  })

  test('PASSKEY asks the browser, and completes the sign-in by its signature', async () => {
    gateway = await scriptedGateway(script)
    await signIn(async () => ({ mfaMethod: 'PASSKEY' }))
    expect(bodies('/login/complete')).toEqual([
      expect.objectContaining({ mfaMethod: 'PASSKEY', passkey: expect.objectContaining({ id: 'key-1' }) }),
    ])
  })

  test('a choice does not count as a code: the attempts are those of codes', async () => {
    gateway = await scriptedGateway({ ...script, [`POST ${auth}/login/complete`]: refuse(401, 'AUTH.CODE_INVALID') })
    const code = vi
      .fn<Code>()
      .mockResolvedValueOnce('1')
      .mockResolvedValueOnce({ mfaMethod: 'OTP' })
      .mockResolvedValueOnce('2')
    await expect(signIn(code)).rejects.toHaveProperty('code', 'AUTH.CODE_INVALID')
    expect(code).toHaveBeenCalledTimes(3)
  })

  test('a sign-in whose first mail is refused ends, because it has no earlier one', async () => {
    gateway = await scriptedGateway({ ...script, [`POST ${auth}/login/mfa/send`]: refuse(429, 'ACCESS.RATE_LIMITED') })
    const code = vi.fn<Code>()
    await expect(signIn(code)).rejects.toHaveProperty('code', 'ACCESS.RATE_LIMITED')
    expect(code).not.toHaveBeenCalled()
  })

  test('an attempt that has expired ends the sign-in', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/login/mfa/send`]: [ok(sent), refuse(404, 'AUTH.SESSION_NOT_FOUND')],
    })
    await expect(signIn(() => ({ mfaMethod: 'EMAIL' }))).rejects.toHaveProperty('code', 'AUTH.SESSION_NOT_FOUND')
  })
})

describe('another factor in a step-up', () => {
  test('the code of a mail, instead of the authenticator, confirms the purpose', async () => {
    gateway = await scriptedGateway(script)
    const code = vi.fn<Prompt>().mockResolvedValueOnce({ mfaMethod: 'EMAIL' }).mockResolvedValueOnce('123456')
    const client = clientOf(code)
    await client.session.adopt(pair('1'))
    await client.createTransfer({ workspaceId: order.bizId, body: transfer })
    const purpose = { operationId: 'transfers.create', workspaceBizId: order.bizId, ...transfer }
    expect(code.mock.calls.map(([step]) => [step.mfaMethod, step.sent, step.purpose])).toEqual([
      ['OTP', null, purpose],
      ['EMAIL', sent, purpose],
    ])
    expect(bodies('/step-up')).toEqual([{ mfaMethod: 'EMAIL', code: '123456', purpose }])
  })

  test('the code of an earlier mail, if no new one can be mailed yet, or that of a later one', async () => {
    const mails = methods.slice(0, 1)
    const enabled = mails.map((mfaMethod) => ({ mfaMethod, isEnabled: true, isPrimary: true, verifiedAt: null }))
    const limited = refuse(429, 'ACCESS.RATE_LIMITED', { 'retry-after': '7' })
    gateway = await scriptedGateway({
      ...script,
      [`GET ${security}/mfa`]: ok(enabled),
      [`POST ${security}/step-up/send`]: [limited, limited, ok(again)],
      [create]: [refuse(403, 'ACCESS.STEP_UP_REQUIRED'), ok(order), refuse(403, 'ACCESS.STEP_UP_REQUIRED'), ok(order)],
    })
    const code = vi
      .fn<Prompt>()
      .mockResolvedValueOnce('123456')
      .mockResolvedValueOnce({ mfaMethod: 'EMAIL' })
      .mockResolvedValueOnce('654321')
    const client = clientOf(code)
    await client.session.adopt(pair('1'))
    await client.createTransfer({ workspaceId: order.bizId, body: transfer })
    await client.createTransfer({ workspaceId: order.bizId, body: transfer })
    expect(code.mock.calls.map(([{ mfaMethod, sent, refused }]) => [mfaMethod, sent, refused?.retryAfter])).toEqual([
      ['EMAIL', null, 7],
      ['EMAIL', null, 7],
      ['EMAIL', again, undefined],
    ])
    expect(bodies('/step-up')).toEqual(
      ['123456', '654321'].map((entered) => expect.objectContaining({ code: entered })),
    )
  })

  test.each(['ACCESS.FORBIDDEN', 'AUTH.MFA_METHOD_NOT_ALLOWED'])(
    'the refusal of the first mail with %s',
    async (code) => {
      gateway = await scriptedGateway({
        ...script,
        [`GET ${security}/mfa`]: ok([]),
        [`POST ${security}/step-up/send`]: refuse(403, code),
      })
      const prompt = vi.fn<Prompt>()
      const client = clientOf(prompt)
      await client.session.adopt(pair('1'))
      const call = client.createTransfer({ workspaceId: order.bizId, body: transfer })
      await expect(call).rejects.toHaveProperty('code', code)
      expect(prompt).not.toHaveBeenCalled()
    },
  )

  test('the passkey, instead of a code', async () => {
    gateway = await scriptedGateway(script)
    const client = clientOf(() => ({ mfaMethod: 'PASSKEY' }))
    await client.session.adopt(pair('1'))
    await client.createTransfer({ workspaceId: order.bizId, body: transfer })
    expect(bodies('/step-up')).toEqual([expect.objectContaining({ mfaMethod: 'PASSKEY' })])
  })
})

test('password.reset 403 ACCESS.STEP_UP_REQUIRED: reaches the page, because a visitor cannot step up', async () => {
  gateway = await scriptedGateway(script)
  const code = vi.fn<Prompt>()
  const reset = clientOf(code).resetPassword({ body: { token: 'token', newPassword: 'seven boats' } })
  await expect(reset).rejects.toHaveProperty('code', 'ACCESS.STEP_UP_REQUIRED')
  expect(code).not.toHaveBeenCalled()
  expect(gateway.to('/security/mfa')).toEqual([])
})
