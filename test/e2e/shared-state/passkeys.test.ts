import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { unknownId } from '../../harness/catalogue.ts'
import {
  begin,
  client,
  data,
  goodPassword,
  newcomer,
  newEmail,
  refusal,
  registerOnly,
  toldOf,
} from '../../harness/identity.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { codeIn, signIn, signInOnly } from '../../harness/sign-in.ts'

const origin = 'http://localhost:8080'
const invalid = [401, 'AUTH.PASSKEY_INVALID']

describe('passkeys', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ login, portals }) => {
        login.resendMs = 0
        const passkeys = {
          rpId: 'localhost',
          origins: [origin],
          userVerification: 'required',
          attestation: 'none',
        } as const
        portals.CONSUMER.passkeys = { ...passkeys, origins: [origin] }
        portals.SYSTEM.passkeys = { ...passkeys, origins: [origin] }
        portals.SYSTEM.mfa.required = { passkey: ['operator:manage'] }
      },
    })
  })
  afterAll(() => portico?.stop())

  const registered = async () => {
    const person = await newcomer(portico)
    const device = new SoftwareAuthenticator(origin)
    const { by, token } = person
    const created = device.create(data(await by.post('/security/passkeys/options', undefined, token)))
    const passkey = data(await by.post('/security/passkeys', { credential: created, name: 'My phone' }, token))
    return { ...person, device, passkey }
  }

  test('a person registers, renames, uses and deletes a passkey, with tokens', async () => {
    const { by, token, device, email, passkey } = await registered()
    await toldOf(portico, email, 'A passkey has been added')
    const { passkeyBizId } = passkey
    data(await by.post('/security/passkeys/rename', { passkeyBizId, name: 'Old phone' }, token))
    expect(data(await by.get('/security/passkeys', token))).toMatchObject([{ passkeyBizId, name: 'Old phone' }])

    const options = data(await by.post('/auth/passkey/options'))
    expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [], userVerification: 'required' })
    const credential = device.get(options)
    const session = data(await by.post('/auth/passkey/verify', { credential }))
    expect(session).toMatchObject({ tokenType: 'Bearer', isNewDevice: false })
    expect(refusal(await by.post('/auth/passkey/verify', { credential }))).toEqual(invalid)
    const history = data(await by.get('/security/sessions/history', session.accessToken))
    expect(history.items[0]).toMatchObject({ failureReason: 'PASSKEY_INVALID' })

    data(await by.post('/security/passkeys/delete', { passkeyBizId }, token))
    expect(data(await by.get('/security/passkeys', token))).toEqual([])
    await toldOf(portico, email, 'A passkey has been removed')
  })

  test('registration.passkey 200: a new person signs in with a passkey, without a password', async () => {
    const by = client(portico)
    const { account, email } = await registerOnly(portico, newEmail(), by)
    const { passwordInitToken: token } = account
    const device = new SoftwareAuthenticator(origin)
    const credential = device.create(data(await by.post('/auth/register/passkey/options', { token })))
    const passkey = data(await by.post('/auth/register/passkey', { token, name: 'My phone', credential }))
    expect(passkey).toMatchObject({ name: 'My phone', suspendedAt: null })
    const assertion = device.get(data(await by.post('/auth/passkey/options')))
    const session = data(await by.post('/auth/passkey/verify', { credential: assertion }))
    expect(data(await by.get('/profile', session.accessToken))).toMatchObject({ accountEmail: email })
    data(await by.post('/auth/password/init', { token, newPassword: goodPassword }))
    const again = await by.post('/auth/register/passkey/options', { token })
    expect(refusal(again)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('auth.passkeyOptions 200: pages with autofill use up no sign-ins of their address', async () => {
    const { email } = await newcomer(portico)
    const office = client(portico)
    for (let page = 0; page < 25; page++) data(await office.post('/auth/passkey/options'))
    expect((await begin(portico, office, email)).code).toMatch(/^\d{6}$/)
  })

  test('auth.passkeyVerify 200: of parallel uses of one challenge, exactly one wins, and suspends nothing', async () => {
    const { by, token, device } = await registered()
    for (let round = 0; round < 3; round++) {
      const credential = device.get(data(await by.post('/auth/passkey/options')))
      const replies = await Promise.all([1, 2, 3, 4].map(() => by.post('/auth/passkey/verify', { credential })))
      expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401])
    }
    expect(data(await by.get('/security/passkeys', token))).toMatchObject([{ suspendedAt: null }])
  })

  test('a passkey is the second factor after a password, and steps up for one command', async () => {
    const { by, device, email } = await registered()
    const { sessionId } = await begin(portico, by, email)
    const passkey = device.get(data(await by.post('/auth/passkey/options', { sessionId })))
    const { accessToken } = data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'PASSKEY', passkey }))
    const purpose = { operationId: 'mfa.otpSetup' }
    const confirmed = device.get(data(await by.post('/security/step-up/passkey', { purpose }, accessToken)))
    data(await by.post('/security/step-up', { mfaMethod: 'PASSKEY', passkey: confirmed, purpose }, accessToken))
    expect(data(await by.post('/security/mfa/otp/setup', undefined, accessToken))).toHaveProperty('secret')
  })

  test('a browser gets the session cookie, only on a page of an allowed origin', async () => {
    const { by, device } = await registered()
    const options = async () => data(await by.post('/auth/passkey/options'))
    const enter = async (headers: Record<string, string>) => {
      const credential = device.get(await options())
      return by.post('/auth/browser-session/passkey', { credential }, undefined, headers)
    }
    const started = await enter({ 'sec-fetch-site': 'same-origin' })
    expect(started.status, started.text).toBe(200)
    expect(started.headers.getSetCookie()).toHaveLength(1)
    expect(refusal(await enter({ origin: 'https://evil.example' }))).toEqual([403, 'ACCESS.ORIGIN_NOT_ALLOWED'])
  })

  test('an operator without a passkey lacks the permissions that need one', async () => {
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const post = (path: string, body?: object) =>
      portico.call('POST', `/web/v1/system${path}`, { token, ...(body && { body }) })
    const required = [403, 'ACCESS.PASSKEY_REQUIRED']
    const permissions = { permissionCodes: ['account:read'], reason: 'a test' }
    expect(refusal(await post(`/operators/${unknownId}/permissions/revoke`, permissions))).toEqual(required)
    // A phisher with the password and a code cannot register the first passkey.
    expect(refusal(await post('/security/passkeys/options'))).toEqual(required)
  })
})

test('passkeys.options 403: a wrong enrollment token does not use up the step-up', async () => {
  const portico = await startPortico({
    adjust: ({ login, mfa, portals }) => {
      login.resendMs = 0
      mfa.binding = 'purpose'
      const passkeys = {
        rpId: 'localhost',
        origins: [origin],
        userVerification: 'required',
        attestation: 'none',
      } as const
      portals.SYSTEM.passkeys = { ...passkeys, origins: [origin] }
      portals.SYSTEM.mfa.required = { passkey: ['operator:manage'] }
    },
  })
  try {
    const email = 'operator@demo.test'
    const { accessToken: token } = await signInOnly(portico, email)
    const post = (path: string, body: object) => portico.call('POST', `/web/v1/system${path}`, { token, body })
    const options = (enrollmentToken: string) => post('/security/passkeys/options', { enrollmentToken })
    const wrong = 'A'.repeat(43)
    expect(refusal(await options(wrong))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    const purpose = { operationId: 'passkeys.options' }
    data(await post('/security/step-up/send', { mfaMethod: 'EMAIL', purpose }))
    const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
    data(await post('/security/step-up', { mfaMethod: 'EMAIL', code, purpose }))
    const required = [403, 'ACCESS.PASSKEY_REQUIRED']
    for (let tries = 0; tries < 3; tries++) expect(refusal(await options(wrong))).toEqual(required)
    expect(refusal(await post('/security/passkeys/options', {}))).toEqual(required)
  } finally {
    await portico.stop()
  }
})

test('passkeys.options 403: a portal without passkeys', async () => {
  const portico = await startPortico()
  try {
    const by = client(portico)
    expect(refusal(await by.post('/auth/passkey/options'))).toEqual([403, 'AUTH.PASSKEYS_NOT_AVAILABLE'])
  } finally {
    await portico.stop()
  }
})
