import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { routes } from '../../harness/catalogue.ts'
import { begin, type Client, client, data, newcomer, refusal, signInOnly, toldOf } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { otpOf } from '../../harness/otp.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { inMode, type PorticoInMode, sessionModes } from '../../harness/session-modes.ts'
import { codeIn, signIn } from '../../harness/sign-in.ts'

const setup = '/security/mfa/otp/setup'
const verify = '/security/mfa/otp/verify'
const revoke = '/security/mfa/otp/revoke'
const generate = '/security/mfa/backup-codes/generate'
const stepUp = '/security/step-up'

/** Time steps do not end during a test. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['Date'] })
}
function restartClock(): void {
  vi.useRealTimers()
}

function methods(entries: { mfaMethod: { code: string }; isEnabled: boolean; isPrimary: boolean }[]) {
  return entries.map(({ mfaMethod, isEnabled, isPrimary }) => [mfaMethod.code, isEnabled, isPrimary])
}

describe('second factors', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())
  beforeEach(stopClock)
  afterEach(restartClock)

  const withOtp = async (gateway = portico) => {
    const at = await newcomer(gateway)
    const { secret } = data(await at.by.post(setup, undefined, at.token))
    data(await at.by.post(verify, { code: otpOf(secret, -1) }, at.token))
    return { ...at, secret: String(secret) }
  }
  const login = async (by: Client, email: string, mfaMethod: string, code: string) => {
    const { sessionId } = await begin(portico, by, email)
    return by.post('/auth/login/complete', { sessionId, mfaMethod, code })
  }

  describe.each(sessionModes)('by %s', (mode) => {
    let gateway: PorticoInMode
    beforeAll(() => {
      gateway = inMode(portico, mode)
    })

    test('mfa.stepUpSend 200 and mfa.stepUp 200 by mail; 429 for a second code, 401 for a wrong one', async () => {
      const { by, email, token } = await newcomer(gateway, client(gateway), signInOnly)
      const sent = data(await by.post(`${stepUp}/send`, { mfaMethod: 'EMAIL' }, token))
      expect(sent).toMatchObject({
        mfaMethod: { code: 'EMAIL' },
        maskedDestination: `${email[0]}***@people.test`,
        expiresIn: 600,
        resendAfter: 30,
        attemptsRemaining: expect.any(Number),
      })
      const again = await by.post(`${stepUp}/send`, { mfaMethod: 'EMAIL' }, token)
      expect([...refusal(again), again.headers.get('retry-after')]).toEqual([429, 'ACCESS.RATE_LIMITED', '30'])
      const code = codeIn((await gateway.mailTo(email, 'step-up-code')).text)
      const wrong = code === '000000' ? '111111' : '000000'
      const refused = await by.post(stepUp, { mfaMethod: 'EMAIL', code: wrong }, token)
      expect(refusal(refused)).toEqual([401, 'AUTH.CODE_INVALID'])
      const done = await by.post(stepUp, { mfaMethod: 'EMAIL', code }, token)
      expect(data(done)).toEqual({ success: true, expiresIn: 300 })
      const replay = await by.post(stepUp, { mfaMethod: 'EMAIL', code }, token)
      expect(refusal(replay)).toEqual([401, 'AUTH.CODE_INVALID'])
    })

    test('a step-up code is valid for its own session only, and for no sign-in', async () => {
      const { by, email, token } = await newcomer(gateway, client(gateway), signInOnly)
      const other = client(gateway)
      const second = await signInOnly(gateway, other, email)
      data(await by.post(`${stepUp}/send`, { mfaMethod: 'EMAIL' }, token))
      const code = codeIn((await gateway.mailTo(email, 'step-up-code')).text)
      const foreign = await other.post(stepUp, { mfaMethod: 'EMAIL', code }, second.accessToken)
      expect(refusal(foreign)).toEqual([401, 'AUTH.CODE_INVALID'])
      const begun = await begin(gateway, by, email)
      if (begun.code !== code) {
        const body = { sessionId: begun.sessionId, mfaMethod: 'EMAIL', code }
        expect(refusal(await by.post('/auth/login/complete', body))).toEqual([401, 'AUTH.CODE_INVALID'])
      }
      expect((await by.post(stepUp, { mfaMethod: 'EMAIL', code }, token)).status).toBe(200)
    })

    test('a step-up by authenticator and by backup code', async () => {
      const { by, secret, token } = await withOtp(gateway)
      expect((await by.post(stepUp, { mfaMethod: 'OTP', code: otpOf(secret, 1) }, token)).status).toBe(200)
      const { codes } = data(await by.post(generate, undefined, token))
      expect((await by.post(stepUp, { mfaMethod: 'BACKUP_CODE', code: codes[3] }, token)).status).toBe(200)
      const spent = await by.post(stepUp, { mfaMethod: 'BACKUP_CODE', code: codes[3] }, token)
      expect(refusal(spent)).toEqual([401, 'AUTH.CODE_INVALID'])
    })
  })

  test('mfa.list 200 and mfa.backupCodeStatus 200 for a new account', async () => {
    const { by, token } = await newcomer(portico)
    const list = data(await by.get('/security/mfa', token))
    expect(methods(list)).toEqual([
      ['EMAIL', true, true],
      ['OTP', false, false],
      ['BACKUP_CODE', false, false],
    ])
    expect(list[0].mfaMethod.value).toBe(10011001)
    expect(list[0].verifiedAt).toEqual(expect.any(String))
    expect(data(await by.get('/security/mfa/backup-codes', token))).toEqual({ remainingCount: 0, totalGenerated: 0 })
  })

  test('mfa.otpSetup 200: an otpauth URI that authenticators can read; takes effect once verified', async () => {
    const { by, email, token } = await newcomer(portico)
    const created = data(await by.post(setup, undefined, token))
    expect(created).toMatchObject({ issuer: 'Portico', accountName: email })
    const uri = new URL(created.qrCodeUri)
    expect([uri.protocol, uri.host, uri.searchParams.get('secret')]).toEqual(['otpauth:', 'totp', created.secret])
    expect([decodeURIComponent(uri.pathname), uri.searchParams.get('issuer')]).toEqual([`/Portico:${email}`, 'Portico'])
    expect(methods(data(await by.get('/security/mfa', token)))[1]).toEqual(['OTP', false, false])
    expect(refusal(await login(client(portico), email, 'OTP', otpOf(created.secret)))[1]).toBe('AUTH.CODE_INVALID')
    expect(refusal(await by.post(verify, { code: '000000' }, token))).toEqual([401, 'AUTH.CODE_INVALID'])
    const entry = data(await by.post(verify, { code: otpOf(created.secret) }, token))
    expect(entry).toMatchObject({ mfaMethod: { code: 'OTP' }, isEnabled: true, isPrimary: true })
    await toldOf(portico, email, 'authenticator app has been added')
    expect(portico.rawLog.join('')).not.toContain(created.secret)
  })

  test('mfa.otpVerify 409 STATE.CONFLICT without a setup, or when already verified', async () => {
    const { by, token } = await newcomer(portico)
    expect(refusal(await by.post(verify, { code: '123456' }, token))).toEqual([409, 'STATE.CONFLICT'])
    const own = await withOtp()
    const again = await own.by.post(verify, { code: otpOf(own.secret) }, own.token)
    expect(refusal(again)).toEqual([409, 'STATE.CONFLICT'])
  })

  test('auth.loginComplete by authenticator: once per time step, with one step of tolerance', async () => {
    const { email, secret } = await withOtp()
    const by = client(portico)
    const { mfaMethods } = data(await by.post('/auth/login/initiate', { email, password: 'violet-Anchor-Tundra-58' }))
    expect(mfaMethods.map(({ code }: { code: string }) => code)).toEqual(['EMAIL', 'OTP'])
    for (const step of [-2, 2]) expect((await login(by, email, 'OTP', otpOf(secret, step))).status).toBe(401)
    const code = otpOf(secret, 1)
    expect((await login(by, email, 'OTP', code)).status).toBe(200)
    expect(refusal(await login(by, email, 'OTP', code))).toEqual([401, 'AUTH.CODE_INVALID'])
    expect(refusal(await login(by, email, 'OTP', otpOf(secret)))).toEqual([401, 'AUTH.CODE_INVALID'])
  })

  test('one authenticator code in concurrent sign-ins opens one session', async () => {
    for (let round = 0; round < 4; round++) {
      const { email, secret } = await withOtp()
      const by = client(portico)
      const begun = []
      for (let each = 0; each < 4; each++) begun.push(await begin(portico, by, email))
      const code = otpOf(secret)
      const responses = await Promise.all(
        begun.map(({ sessionId }) => by.post('/auth/login/complete', { sessionId, mfaMethod: 'OTP', code })),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
    }
  })

  test('a new setup leaves the old secret valid until the new one is verified', async () => {
    const { by, email, secret, token } = await withOtp()
    const next = data(await by.post(setup, undefined, token))
    expect((await login(client(portico), email, 'OTP', otpOf(secret))).status).toBe(200)
    data(await by.post(verify, { code: otpOf(next.secret) }, token))
    expect((await login(client(portico), email, 'OTP', otpOf(secret, 1))).status).toBe(401)
    expect((await login(client(portico), email, 'OTP', otpOf(next.secret, 1))).status).toBe(200)
  })

  test('mfa.otpRevoke 200 by its code, a backup code or a fresh step-up; 401 wrong code; 409 without setup', async () => {
    const first = await withOtp()
    const wrong = await first.by.post(revoke, { code: '000000' }, first.token)
    expect(refusal(wrong)).toEqual([401, 'AUTH.CODE_INVALID'])
    const gone = data(await first.by.post(revoke, { code: otpOf(first.secret, 1) }, first.token))
    expect(gone).toMatchObject({ mfaMethod: { code: 'OTP' }, isEnabled: false, verifiedAt: null })
    expect(refusal(await first.by.post(revoke, undefined, first.token))).toEqual([409, 'STATE.CONFLICT'])
    await toldOf(portico, first.email, 'authenticator app has been removed')

    const second = await withOtp()
    const { codes } = data(await second.by.post(generate, undefined, second.token))
    data(await second.by.post(revoke, { code: codes[0].toLowerCase() }, second.token))
    const status = data(await second.by.get('/security/mfa/backup-codes', second.token))
    expect(status).toEqual({ remainingCount: 9, totalGenerated: 10 })

    const third = await withOtp()
    expect((await third.by.post(revoke, undefined, third.token)).status).toBe(200)
  })

  test('mfa.generateBackupCodes 200: ten codes, each valid once; a new set revokes the old one', async () => {
    const { by, email, token } = await newcomer(portico)
    const first = data(await by.post(generate, undefined, token))
    expect(first).toMatchObject({ totalGenerated: 10, remainingCount: 10, generatedAt: expect.any(String) })
    const entry = { isEnabled: true, isPrimary: false, verifiedAt: first.generatedAt }
    expect(data(await by.get('/security/mfa', token))[2]).toMatchObject({ mfaMethod: { value: 10011005 }, ...entry })
    expect(new Set(first.codes).size).toBe(10)
    expect((await login(client(portico), email, 'BACKUP_CODE', first.codes[0])).status).toBe(200)
    expect(refusal(await login(client(portico), email, 'BACKUP_CODE', first.codes[0]))[1]).toBe('AUTH.CODE_INVALID')
    const bare = String(first.codes[1]).replace('-', '').toLowerCase()
    expect((await login(client(portico), email, 'BACKUP_CODE', bare)).status).toBe(200)
    expect(data(await by.get('/security/mfa/backup-codes', token)).remainingCount).toBe(8)
    const second = data(await by.post(generate, undefined, token))
    expect((await login(client(portico), email, 'BACKUP_CODE', first.codes[2])).status).toBe(401)
    expect((await login(client(portico), email, 'BACKUP_CODE', second.codes[0])).status).toBe(200)
    await toldOf(portico, email, 'New backup codes')
    await toldOf(portico, email, 'A backup code has been used')
    expect(portico.rawLog.join('')).not.toContain(first.codes[0])
  })

  test('concurrent generations leave one complete set', async () => {
    const { by, email, token } = await newcomer(portico)
    const sets = await Promise.all(Array.from({ length: 5 }, () => by.post(generate, undefined, token).then(data)))
    expect(data(await by.get('/security/mfa/backup-codes', token))).toEqual({ remainingCount: 10, totalGenerated: 10 })
    const tried = await Promise.all(
      sets.map(({ codes }) => login(client(portico), email, 'BACKUP_CODE', codes[9]).then(({ status }) => status)),
    )
    expect(tried.sort()).toEqual([200, 401, 401, 401, 401])
  })
})

describe('operations that require a fresh second factor', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.mfa.stepUpMs = 3_000
      },
    })
  })
  afterAll(() => portico?.stop())
  beforeEach(stopClock)
  afterEach(restartClock)

  const guarded = routes.filter(({ operation }) => operation.policy.stepUp === true)

  test('403 ACCESS.STEP_UP_REQUIRED on each operation that declares it; 200 after a step-up', async () => {
    const [owner, operator] = [await signIn(portico), await signIn(portico, 'operator@demo.test')]
    const at = await newcomer(portico)
    const { secret } = data(await at.by.post(setup, undefined, at.token))
    data(await at.by.post(verify, { code: otpOf(secret, -1) }, at.token))
    vi.advanceTimersByTime(3_100)
    expect(guarded.length).toBeGreaterThan(10)
    const others: string[] = []
    for (const route of guarded) {
      const token = (route.chainId === 'system' ? operator : owner).accessToken
      const workspace =
        route.operation.policy.workspace === 'none' ? {} : { workspace: '01990000-0000-7000-8000-000000000002' }
      const response = await portico.call(route.method, route.path, { token, ...workspace })
      if (response.body?.code !== 'ACCESS.STEP_UP_REQUIRED' || response.status !== 403)
        others.push(`${route.name}: ${response.status} ${response.text}`)
    }
    expect(others).toEqual([])
    expect(refusal(await at.by.post(revoke, undefined, at.token))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    const proof = { mfaMethod: 'OTP', code: otpOf(secret, 1) }
    expect(data(await at.by.post(stepUp, proof, at.token))).toEqual({ success: true, expiresIn: 3 })
    expect((await at.by.post(generate, undefined, at.token)).status).toBe(200)
  })
})
