import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { client, data, refusal, signInAs, signInOnly, toldOf } from '../harness/identity.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn } from '../harness/sign-in.ts'

const password = 'Portico-demo-2026'
const email = 'checker@demo.test'

describe("an operator's own account", () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const signedIn = async (enter = signInAs) => {
    const by = client(portico, { chain: '/web/v1/system' })
    const session = await enter(portico, by, email, password)
    const token = session.accessToken
    return {
      session,
      get: async (path: string) => data(await by.get(path, token)),
      post: async (path: string, body?: object) => data(await by.post(path, body, token)),
      by,
      token,
    }
  }
  const ended = [401, 'ACCESS.TOKEN_INVALID']

  test('auth.refresh 200, auth.logout 200; auth.refresh 404 at the CONSUMER portal', async () => {
    const { by, session } = await signedIn()
    const { refreshToken } = session
    const elsewhere = await client(portico, { hash: by.hash }).post('/auth/token/refresh', { refreshToken })
    expect(refusal(elsewhere)).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
    const next = data(await by.post('/auth/token/refresh', { refreshToken }))
    expect(data(await by.post('/auth/logout', undefined, next.accessToken))).toMatchObject({ success: true })
    const after = async () => refusal(await by.get('/profile', next.accessToken))
    await expect.poll(after).toEqual(ended)
  })

  test('profile.update 200, constants.countries 200 and constants.timezones 200', async () => {
    const { get, post } = await signedIn()
    expect(await post('/profile/update', { accountName: 'Chiara Checker' })).toMatchObject({
      accountName: 'Chiara Checker',
      accountPortal: { code: 'SYSTEM' },
    })
    expect((await get('/profile')).accountName).toBe('Chiara Checker')
    expect((await get('/constants/countries')).length).toBeGreaterThan(200)
    expect((await get('/constants/timezones')).length).toBeGreaterThan(200)
  })

  test('sessions.configure, sessions.terminate and sessions.terminateAll 200', async () => {
    const [one, two, three] = [await signedIn(), await signedIn(), await signedIn()]
    expect(await three.post('/security/sessions/config', { maxConcurrentSessions: 7 })).toMatchObject({
      maxSessions: 7,
    })
    await three.post('/security/sessions/terminate', { sessionId: one.session.sessionId })
    const first = async () => refusal(await one.by.get('/profile', one.token))
    await expect.poll(first).toEqual(ended)
    expect((await three.post('/security/sessions/terminate-all')).terminatedSessions).toBeGreaterThan(0)
    const second = async () => refusal(await two.by.get('/profile', two.token))
    await expect.poll(second).toEqual(ended)
    expect(await three.get('/security/sessions')).toMatchObject([{ isCurrent: true }])
  })

  test('mfa.otpSetup, otpVerify, otpRevoke, generateBackupCodes, backupCodeStatus, stepUpSend and stepUp 200', async () => {
    const { get, post } = await signedIn(signInOnly)
    await post('/security/step-up/send', { mfaMethod: 'EMAIL' })
    const { text } = await portico.mailTo(email, 'step-up-code')
    await post('/security/step-up', { mfaMethod: 'EMAIL', code: codeIn(text) })
    const { secret, accountName } = await post('/security/mfa/otp/setup')
    expect(accountName).toBe(email)
    const entry = await post('/security/mfa/otp/verify', { code: generateSync({ secret }) })
    expect(entry).toMatchObject({ mfaMethod: { code: 'OTP' }, isEnabled: true })
    const { codes } = await post('/security/mfa/backup-codes/generate')
    await post('/security/step-up', { mfaMethod: 'BACKUP_CODE', code: codes[0] })
    expect(await get('/security/mfa/backup-codes')).toEqual({ remainingCount: 9, totalGenerated: 10 })
    expect(await post('/security/mfa/otp/revoke')).toMatchObject({ isEnabled: false })
    await toldOf(portico, email, 'backup codes')
  })

  test('ipWhitelist.replace, ipWhitelist.enable and ipWhitelist.disable 200', async () => {
    const { by, get, post } = await signedIn()
    await post('/security/ip-whitelist', { addresses: [by.ip] })
    expect(await post('/security/ip-whitelist/enable')).toBeNull()
    expect(await get('/security/ip-whitelist')).toMatchObject({ enabled: true, entries: [{ address: by.ip }] })
    expect(await post('/security/ip-whitelist/disable')).toBeNull()
    expect((await get('/security/ip-whitelist')).enabled).toBe(false)
  })
})
