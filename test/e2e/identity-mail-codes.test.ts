import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { client, data, goodPassword, linkToken, newcomer, otherPassword, refusal } from '../harness/identity.ts'
import { otpOf, withPreviousOtp } from '../harness/otp.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

/** 0 is the current time step, 1 the next one. */
const initiate = '/auth/login/initiate'
const notAllowed = [403, 'AUTH.MFA_METHOD_NOT_ALLOWED']

describe('mailed codes with the defaults of production', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ passwords, portals }) => {
        // The authenticators of the test are new.
        passwords.suspicionWindowMs = 0
        portals.CONSUMER.mfa.mailCodes = 'untilAuthenticator'
        portals.SYSTEM.mfa.mailCodes = 'never'
      },
    })
  })
  afterAll(() => portico?.stop())

  const withOtp = async () => {
    const at = await newcomer(portico)
    const { secret } = data(await at.by.post('/security/mfa/otp/setup', undefined, at.token))
    data(await withPreviousOtp(secret, (code) => at.by.post('/security/mfa/otp/verify', { code }, at.token)))
    return { ...at, secret: String(secret) }
  }

  test('auth.mfaSend, auth.loginComplete and mfa.stepUpSend 403: EMAIL once an authenticator is active', async () => {
    const { by, email, secret, token } = await withOtp()
    const { sessionId, mfaMethods } = data(await by.post(initiate, { email, password: goodPassword }))
    expect(mfaMethods.map(({ code }: { code: string }) => code)).toEqual(['OTP'])
    const mailed = { sessionId, mfaMethod: 'EMAIL' }
    expect(refusal(await by.post('/auth/login/mfa/send', mailed))).toEqual(notAllowed)
    expect(refusal(await by.post('/auth/login/complete', { ...mailed, code: '123456' }))).toEqual(notAllowed)
    expect(refusal(await by.post('/security/step-up/send', { mfaMethod: 'EMAIL' }, token))).toEqual(notAllowed)
    const list = data(await by.get('/security/mfa', token))
    expect(list[0]).toMatchObject({ mfaMethod: { code: 'EMAIL' }, isEnabled: false, isPrimary: false })
    data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'OTP', code: otpOf(secret) }))
  })

  test('auth.loginInitiate 403 AUTH.AUTHENTICATOR_REQUIRED: an operator without an authenticator; says how to recover', async () => {
    const by = client(portico, { chain: '/web/v1/system' })
    const refused = await by.post(initiate, { email: 'operator@demo.test', password: 'Portico-demo-2026' })
    expect(refusal(refused)).toEqual([403, 'AUTH.AUTHENTICATOR_REQUIRED'])
    expect(refused.body.message).toContain('reset your second factor')
    const wrong = await by.post(initiate, { email: 'operator@demo.test', password: 'wrong' })
    expect(refusal(wrong)).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
  })

  test('password.reset 403 ACCESS.STEP_UP_REQUIRED without a code of the authenticator; then 200 with one', async () => {
    const { by, email, secret } = await withOtp()
    data(await by.post('/auth/password/forgot', { email, turnstileToken: '' }))
    const links = async () => (await portico.mailsTo(email)).filter(({ template }) => template === 'password-reset')
    await expect.poll(async () => (await links()).length).toBe(1)
    const body = { token: linkToken((await links())[0]?.text ?? ''), newPassword: otherPassword }
    const reset = (factor: object = {}) => by.post('/auth/password/reset', { ...body, ...factor })
    expect(refusal(await reset())).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    expect(refusal(await reset({ mfaMethod: 'OTP', code: otpOf(secret, 9) }))).toEqual([401, 'AUTH.CODE_INVALID'])
    expect(refusal(await reset({ mfaMethod: 'OTP' }))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(data(await reset({ mfaMethod: 'OTP', code: otpOf(secret) })).success).toBe(true)
    data(await by.post(initiate, { email, password: otherPassword }))
  })
})
