import { afterEach, describe, expect, test, vi } from 'vitest'
import { clientError } from '../../../src/client/errors.ts'
import { createClient, type SessionMode } from '../../../src/client/index.ts'
import { type Authenticator, passkeysOf } from '../../../src/client/passkeys/index.ts'
import { begun, completed, order, pair, sent, transfer } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const auth = '/web/v1/consumer/auth'
const security = '/web/v1/consumer/security'
const account = '01933b6e-7c1a-7e0a-8f35-00000000000a'
const method = (code: string, value: number) => ({ code, value, label: code, description: '' })
const [email, passkeyMethod] = [method('EMAIL', 10_011_001), method('PASSKEY', 10_011_006)]
const offered = { ...begun, mfaMethods: [passkeyMethod, email] }
const factor = (mfaMethod: object, isPrimary: boolean) => ({ mfaMethod, isEnabled: true, isPrimary, verifiedAt: null })
const request = (challenge: string, allowed: object[] = [], timeout = 300_000) => ({
  challenge,
  timeout,
  rpId: 'localhost',
  allowCredentials: allowed,
  userVerification: 'required',
})
const creation = {
  rp: { id: 'localhost', name: 'Portico' },
  user: { id: 'AAAA', name: 'owner@demo.test', displayName: 'Owner' },
  challenge: 'create',
  pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
  timeout: 300_000,
  excludeCredentials: [],
  authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  attestation: 'none',
}
const listed = {
  passkeyBizId: account,
  credentialId: 'key-1',
  name: 'Laptop',
  deviceType: 'MULTI_DEVICE',
  backedUp: true,
  transports: ['internal'],
  aaguid: '00000000-0000-0000-0000-000000000000',
  createdAt: '2026-01-01T00:00:00.000Z',
  lastUsedAt: null,
  suspendedAt: null,
}
const started = { sessionId: 'session', isNewDevice: true, expiresIn: 43_200, idleExpiresIn: 1_800 }
const script: Record<string, Step | Step[]> = {
  [`POST ${auth}/login/initiate`]: ok(offered),
  [`POST ${auth}/login/mfa/send`]: ok(sent),
  [`POST ${auth}/login/complete`]: ok(completed),
  [`POST ${auth}/passkey/options`]: ok(request('sign-in')),
  [`POST ${auth}/passkey/verify`]: ok(completed),
  [`POST ${auth}/browser-session/passkey`]: ok(started),
  [`GET ${auth}/browser-session`]: ok({ signedIn: true, accountBizId: account }),
  [`GET ${security}/passkeys`]: ok([listed]),
  [`POST ${security}/passkeys/options`]: ok(creation),
  [`POST ${security}/passkeys`]: ok(listed),
  [`POST ${security}/passkeys/delete`]: ok({ success: true, credentialId: 'key-1', rpId: 'localhost' }),
  [`GET ${security}/mfa`]: ok([factor(passkeyMethod, true), factor(email, false)]),
  [`POST ${security}/step-up/passkey`]: ok(request('step-up')),
  [`POST ${security}/step-up/send`]: ok(sent),
  [`POST ${security}/step-up`]: ok({ success: true, expiresIn: 300 }),
  'POST /web/v1/consumer/transfer/command/create': [refuse(403, 'ACCESS.STEP_UP_REQUIRED'), ok(order)],
}

const key = { id: 'key-1', rawId: 'key-1', type: 'public-key' } as const

const sign: Authenticator['get'] = async ({ challenge }) => ({
  ...key,
  response: { clientDataJSON: challenge, authenticatorData: 'data', signature: 'sig', userHandle: 'AAAA' },
})

/** An authenticator whose signature is its challenge. */
function authenticator({ get = sign, isSupported = true } = {}) {
  return {
    isSupported: () => isSupported,
    create: vi.fn<Authenticator['create']>(async ({ challenge }) => ({
      ...key,
      response: { clientDataJSON: challenge, attestationObject: 'att', transports: ['internal'] },
    })),
    get: vi.fn(get),
    forget: vi.fn<NonNullable<Authenticator['forget']>>(async () => undefined),
    retain: vi.fn<NonNullable<Authenticator['retain']>>(async () => undefined),
  }
}

/** Like a browser: waits until the signal aborts. */
const pending: Authenticator['get'] = (_, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

const cancelled: Authenticator['get'] = async () => {
  throw clientError('CLIENT.PASSKEY_CANCELLED', 'cancelled')
}

function clientOf<const M extends SessionMode = 'tokens'>(device: Authenticator | null, session?: M) {
  const code = vi.fn(() => '123456')
  const client = createClient({
    baseUrl: gateway.baseUrl,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    seal: 'none',
    retry: { firstDelayMs: 1 },
    onStepUp: { code },
    ...(device && { passkeys: passkeysOf(device) }),
    ...(session && { session }),
  })
  return { client, code }
}

const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026' }
const bodies = (end: string) => gateway.to(end).map(({ body }) => body)

describe('signInWithPasskey', () => {
  test('tokens: signs the challenge, stores the tokens, and hides deleted passkeys from the browser', async () => {
    gateway = await scriptedGateway(script)
    const device = authenticator()
    const { client } = clientOf(device)
    expect(await client.signInWithPasskey()).toMatchObject({ accessToken: 'access-1' })
    expect(bodies('/passkey/verify')).toEqual([
      { credential: expect.objectContaining({ response: expect.objectContaining({ clientDataJSON: 'sign-in' }) }) },
    ])
    expect(await client.session.tokens()).toMatchObject({ accessToken: 'access-1' })
    const accepted = { rpId: 'localhost', userId: 'AAAA', credentialIds: ['key-1'] }
    await vi.waitFor(() => expect(device.retain).toHaveBeenCalledWith(accepted))
  })

  test('cookie: has the gateway set the cookie, and the client holds no token', async () => {
    gateway = await scriptedGateway(script)
    const { client } = clientOf(authenticator(), 'cookie')
    expect(await client.signInWithPasskey()).toEqual(started)
    expect(client.session.state).toMatchObject({ signedIn: true, accountBizId: account })
    expect([bodies('/browser-session/passkey').length, bodies('/passkey/verify')]).toEqual([1, []])
  })

  test('a list that fails, or a refused passkey, hides nothing', async () => {
    gateway = await scriptedGateway({ ...script, [`GET ${security}/passkeys`]: refuse(503, 'SYSTEM.UNAVAILABLE') })
    const device = authenticator()
    await clientOf(device).client.signInWithPasskey()
    await vi.waitFor(() => expect(bodies('/security/passkeys')).toHaveLength(1))
    await gateway.close()
    gateway = await scriptedGateway({ ...script, [`POST ${auth}/passkey/verify`]: refuse(401, 'AUTH.PASSKEY_INVALID') })
    const refused = clientOf(device).client.signInWithPasskey()
    await expect(refused).rejects.toHaveProperty('code', 'AUTH.PASSKEY_INVALID')
    // The refusal does not say whether the passkey is unknown, so a valid one could be hidden.
    expect([device.retain.mock.calls, device.forget.mock.calls]).toEqual([[], []])
  })

  test('autofill: requests a new challenge before the previous one expires', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/passkey/options`]: [ok(request('first', [], 10)), ok(request('second'))],
    })
    const device = authenticator()
    device.get.mockImplementationOnce(pending)
    await clientOf(device).client.signInWithPasskey({ autofill: true })
    expect(device.get.mock.calls.map(([{ challenge }, { autofill }]) => [challenge, autofill])).toEqual([
      ['first', true],
      ['second', true],
    ])
    expect(bodies('/passkey/verify')).toMatchObject([{ credential: { response: { clientDataJSON: 'second' } } }])
  })

  test.each([
    [
      'a password',
      (client: ReturnType<typeof clientOf>['client']) => client.signIn({ ...credentials, code: () => '1' }),
    ],
    ['a passkey', (client: ReturnType<typeof clientOf>['client']) => client.signInWithPasskey()],
  ])('autofill: ends with CLIENT.PASSKEY_ABORTED when a sign-in by %s begins', async (_, signIn) => {
    gateway = await scriptedGateway({ ...script, [`POST ${auth}/login/initiate`]: ok(begun) })
    const device = authenticator()
    device.get.mockImplementationOnce(pending)
    const { client } = clientOf(device)
    const suggested = client.signInWithPasskey({ autofill: true }).catch((error: unknown) => error)
    await vi.waitFor(() => expect(device.get).toHaveBeenCalledOnce())
    await signIn(client)
    expect(await suggested).toMatchObject({ code: 'CLIENT.PASSKEY_ABORTED', status: 0 })
    expect(device.get.mock.calls[0]?.[1].signal.aborted).toBe(true)
    expect(await client.session.tokens()).toMatchObject({ accessToken: 'access-1' })
  })

  test('a selected passkey is not adopted after another sign-in has begun', async () => {
    const verifying = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/login/initiate`]: ok(begun),
      [`POST ${auth}/login/complete`]: ok({ ...completed, accessToken: 'by-password' }),
      [`POST ${auth}/passkey/verify`]: async (seen, response) => {
        reached.resolve()
        await verifying.promise
        await ok(completed)(seen, response)
      },
    })
    const { client } = clientOf(authenticator())
    const suggested = client.signInWithPasskey({ autofill: true }).catch((error: unknown) => error)
    await reached.promise
    await client.signIn({ ...credentials, code: () => '1' })
    verifying.resolve()
    expect(await suggested).toHaveProperty('code', 'CLIENT.PASSKEY_ABORTED')
    expect(await client.session.tokens()).toMatchObject({ accessToken: 'by-password' })
  })

  test("rejects with the reason of the caller's signal, also before it begins, and after close", async () => {
    gateway = await scriptedGateway(script)
    const device = authenticator({ get: pending })
    const { client } = clientOf(device)
    const controller = new AbortController()
    const suggested = client.signInWithPasskey({ autofill: true, signal: controller.signal })
    setImmediate(() => controller.abort(new Error('left the page')))
    await expect(suggested).rejects.toThrow('left the page')
    await expect(client.signInWithPasskey({ signal: controller.signal })).rejects.toThrow('left the page')
    const closed = client.signInWithPasskey({ autofill: true }).catch((error: unknown) => error)
    await client.close()
    expect(await closed).toHaveProperty('code', 'CLIENT.PASSKEY_ABORTED')
  })

  test('a client without passkeys throws a TypeError', async () => {
    gateway = await scriptedGateway(script)
    const { client } = clientOf(null)
    expect(() => client.signInWithPasskey()).toThrow(TypeError)
    expect(gateway.seen).toEqual([])
  })
})

describe('signIn', () => {
  test('uses a passkey as the second factor, without a mail', async () => {
    gateway = await scriptedGateway(script)
    const { client } = clientOf(authenticator())
    await client.signIn({ ...credentials, code: () => expect.fail() })
    expect(bodies('/passkey/options')).toEqual([{ sessionId: 'pre-login' }])
    expect(bodies('/login/complete')).toMatchObject([
      { sessionId: 'pre-login', mfaMethod: 'PASSKEY', passkey: { response: { clientDataJSON: 'sign-in' } } },
    ])
    expect(bodies('/mfa/send')).toEqual([])
  })

  test.each([
    ['cancels', authenticator({ get: cancelled })],
    ['cannot use passkeys', authenticator({ isSupported: false })],
  ])('asks for a code if the user %s', async (_, device) => {
    gateway = await scriptedGateway(script)
    const { client } = clientOf(device)
    await client.signIn({ ...credentials, code: () => '123456' })
    expect(bodies('/login/complete')).toEqual([{ sessionId: 'pre-login', mfaMethod: 'EMAIL', code: '123456' }])
  })

  test('usePasskey: decides before each attempt, and a new one has a new challenge', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/login/complete`]: [refuse(401, 'AUTH.PASSKEY_INVALID'), ok(completed)],
    })
    const { client } = clientOf(authenticator())
    const usePasskey = vi.fn(() => true)
    await client.signIn({ ...credentials, code: () => expect.fail(), usePasskey })
    const refused = expect.objectContaining({ code: 'AUTH.PASSKEY_INVALID' })
    expect(usePasskey.mock.calls).toEqual([[null], [refused]])
    expect(bodies('/passkey/options')).toHaveLength(2)
  })

  test('rejects if the account has no other factor, or the caller chose the passkey', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/login/initiate`]: [ok({ ...offered, mfaMethods: [passkeyMethod] }), ok(offered)],
    })
    const { client } = clientOf(authenticator({ get: cancelled }))
    const input = { ...credentials, code: () => expect.fail() }
    await expect(client.signIn(input)).rejects.toHaveProperty('code', 'CLIENT.PASSKEY_CANCELLED')
    const chosen = client.signIn({ ...input, mfaMethod: 'PASSKEY' })
    await expect(chosen).rejects.toHaveProperty('code', 'CLIENT.PASSKEY_CANCELLED')
  })

  test('without passkeys, a client uses the first method for codes, or rejects if there is none', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${auth}/login/initiate`]: [ok(offered), ok({ ...offered, mfaMethods: [passkeyMethod] })],
    })
    const { client } = clientOf(null)
    await client.signIn({ ...credentials, code: () => '123456' })
    expect(bodies('/login/complete')).toMatchObject([{ mfaMethod: 'EMAIL' }])
    const refused = client.signIn({ ...credentials, code: () => expect.fail() })
    await expect(refused).rejects.toHaveProperty('code', 'CLIENT.PASSKEY_UNAVAILABLE')
  })
})

describe('onStepUp', () => {
  const command = (client: ReturnType<typeof clientOf>['client']) => client.createTransfer({ body: transfer })
  const purpose = { operationId: 'transfers.create', ...transfer }

  test('confirms the purpose of the call with a passkey, and repeats the call with the same id', async () => {
    gateway = await scriptedGateway(script)
    const { client, code } = clientOf(authenticator())
    await client.session.adopt(pair('1'))
    expect(await command(client)).toMatchObject({ orderNo: order.orderNo })
    expect(bodies('/step-up/passkey')).toEqual([{ purpose }])
    const passkey = expect.objectContaining({ response: expect.objectContaining({ clientDataJSON: 'step-up' }) })
    expect(bodies('/security/step-up')).toEqual([{ mfaMethod: 'PASSKEY', passkey, purpose }])
    expect([code.mock.calls, bodies('/step-up/send')]).toEqual([[], []])
    expect(new Set(gateway.to('/create').map(({ headers }) => headers['x-request-id'])).size).toBe(1)
  })

  test('asks for a code of the same purpose if the user cancels, or the client has no passkeys', async () => {
    for (const device of [authenticator({ get: cancelled }), null]) {
      gateway = await scriptedGateway(script)
      const { client, code } = clientOf(device)
      await client.session.adopt(pair('1'))
      await command(client)
      expect(code).toHaveBeenCalledWith(
        expect.objectContaining({ operationId: 'transfers.create', purpose, sent, refused: null, mfaMethod: 'EMAIL' }),
      )
      expect(bodies('/security/step-up')).toEqual([{ mfaMethod: 'EMAIL', code: '123456', purpose }])
      await gateway.close()
    }
  })

  test('prefers the code of an authenticator to a mailed one', async () => {
    const otp = factor(method('OTP', 10_011_002), false)
    gateway = await scriptedGateway({
      ...script,
      [`GET ${security}/mfa`]: ok([factor(email, false), otp, factor(passkeyMethod, true)]),
    })
    const { client } = clientOf(authenticator({ get: cancelled }))
    await client.session.adopt(pair('1'))
    await command(client)
    expect(bodies('/security/step-up')).toEqual([{ mfaMethod: 'OTP', code: '123456', purpose }])
    expect(bodies('/step-up/send')).toEqual([])
  })

  test('rejects the call if the account has no other factor, and after a failure of the gateway', async () => {
    gateway = await scriptedGateway({
      ...script,
      'POST /web/v1/consumer/transfer/command/create': refuse(403, 'ACCESS.STEP_UP_REQUIRED'),
      [`GET ${security}/mfa`]: [
        ok([factor(passkeyMethod, true)]),
        ok([factor(passkeyMethod, true), factor(email, false)]),
      ],
      [`POST ${security}/step-up/passkey`]: [ok(request('step-up')), refuse(403, 'ACCESS.PERMISSION_DENIED')],
    })
    const device = authenticator()
    device.get.mockImplementationOnce(cancelled)
    const { client, code } = clientOf(device)
    await client.session.adopt(pair('1'))
    await expect(command(client)).rejects.toHaveProperty('code', 'CLIENT.PASSKEY_CANCELLED')
    await expect(command(client)).rejects.toHaveProperty('code', 'ACCESS.PERMISSION_DENIED')
    expect(code).not.toHaveBeenCalled()
  })
})

describe('addPasskey and removePasskey', () => {
  test('addPasskey: registers the passkey of the device under its name', async () => {
    gateway = await scriptedGateway(script)
    const device = authenticator()
    const { client } = clientOf(device)
    await client.session.adopt(pair('1'))
    expect(await client.addPasskey({ name: 'Laptop' })).toEqual(listed)
    expect(device.create).toHaveBeenCalledWith(creation, expect.any(AbortSignal))
    const response = { clientDataJSON: 'create', attestationObject: 'att', transports: ['internal'] }
    const credential = { id: 'key-1', rawId: 'key-1', type: 'public-key', response }
    expect(gateway.seen.filter(({ method: verb }) => verb === 'POST').map(({ body }) => body)).toEqual([
      undefined,
      { name: 'Laptop', credential },
    ])
  })

  test('removePasskey: hides the passkey after its deletion, and not after a refusal', async () => {
    gateway = await scriptedGateway({
      ...script,
      [`POST ${security}/passkeys/delete`]: [
        refuse(403, 'AUTH.AUTHENTICATOR_REQUIRED'),
        ok({ success: true, credentialId: 'key-1', rpId: 'localhost' }),
      ],
    })
    const device = authenticator()
    const { client } = clientOf(device)
    await client.session.adopt(pair('1'))
    await expect(client.removePasskey(account)).rejects.toHaveProperty('code', 'AUTH.AUTHENTICATOR_REQUIRED')
    expect(device.forget).not.toHaveBeenCalled()
    await client.removePasskey(account)
    expect(device.forget).toHaveBeenCalledExactlyOnceWith({ rpId: 'localhost', credentialId: 'key-1' })
  })
})
