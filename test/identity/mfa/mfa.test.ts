import { generateSync } from 'otplib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { logout } from '../../../src/identity/login/contract.ts'
import {
  generateBackupCodes,
  revokeOtp,
  sendStepUpCode,
  setupOtp,
  stepUp,
  verifyOtp,
} from '../../../src/identity/mfa/contract.ts'
import type { Caller } from '../../../src/kernel/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import {
  begin,
  call,
  codeOf,
  createRequestContext,
  credential,
  type Harness,
  harness,
  mailedCode,
  refusalOf,
  runJobs,
  signedIn,
  signIn,
} from '../harness.ts'

let at: Harness
let caller: Caller
let email: string
let count = 0
beforeAll(async () => {
  at = await harness((settings) => {
    settings.portals.CONSUMER.codeSends.limit = 1_000
  })
})
beforeEach(async () => {
  email = `factor${count++}@demo.test`
  await at.account(email)
  caller = await signedIn(at, email)
})
afterAll(() => at.close())

function otpAt(secret: string, seconds = 0): string {
  return generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) + seconds })
}
function invoke<O extends Parameters<typeof call>[1]>(operation: O, body: unknown = null) {
  return call(at.identity, operation, createRequestContext(at.clock), body, caller)
}
function verifyTotp(code: string) {
  return invoke(stepUp, { mfaMethod: 'OTP', code })
}
async function securityMails(): Promise<string[]> {
  await runJobs(at)
  const mails = at.outbox.list().filter(({ to, template }) => to === email && template === 'security-change')
  return mails.map(({ text }) => text)
}
async function newSecret(): Promise<string> {
  const { secret } = await invoke(setupOtp)
  await invoke(verifyOtp, { code: otpAt(secret, -30) })
  return secret
}

describe('an authenticator', () => {
  test('accepts the current, previous and next time step; none twice, and none before a used one', async () => {
    const secret = await newSecret()
    at.clock.advance(300_000)
    for (const seconds of [-60, 60, -90])
      expect(await codeOf(verifyTotp(otpAt(secret, seconds)))).toBe('AUTH.CODE_INVALID')
    await verifyTotp(otpAt(secret, -30))
    expect(await codeOf(verifyTotp(otpAt(secret, -30)))).toBe('AUTH.CODE_INVALID')
    await verifyTotp(otpAt(secret, 30))
    expect(await codeOf(verifyTotp(otpAt(secret)))).toBe('AUTH.CODE_INVALID')
    expect(await codeOf(verifyTotp(otpAt(secret, 30)))).toBe('AUTH.CODE_INVALID')
    at.clock.advance(60_000)
    await verifyTotp(otpAt(secret))
  })

  test('mfa.otpVerify 409: 15 minutes after the setup', async () => {
    const { secret } = await invoke(setupOtp)
    at.clock.advance(900_000)
    expect(await codeOf(invoke(verifyOtp, { code: otpAt(secret) }))).toBe('STATE.CONFLICT')
  })

  test('mfa.otpVerify 409: if the clock was set back by an hour after the setup', async () => {
    at.clock.advance(3_600_000)
    const { secret } = await invoke(setupOtp)
    at.clock.advance(-3_600_000)
    expect(await codeOf(invoke(verifyOtp, { code: otpAt(secret) }))).toBe('STATE.CONFLICT')
  })

  test('mfa.otpVerify 409: does not count as a failure', async () => {
    for (let turn = 0; turn < 11; turn++)
      expect(await codeOf(invoke(verifyOtp, { code: '123456' }))).toBe('STATE.CONFLICT')
    const { secret } = await invoke(setupOtp)
    at.clock.advance(900_000)
    for (let turn = 0; turn < 11; turn++)
      expect(await codeOf(invoke(verifyOtp, { code: otpAt(secret) }))).toBe('STATE.CONFLICT')
    expect((await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })).attemptsRemaining).toBe(5)
  })

  test('is encrypted for its account: a copy in another account fails', async () => {
    const { database } = at.ports
    const [secret, { accountId }] = [await newSecret(), caller]
    await at.account('robbed@demo.test')
    caller = await signedIn(at, 'robbed@demo.test')
    await newSecret()
    const own = database.selectFrom('otp_factors').select('secret').where('accountBizId', '=', accountId)
    await database
      .updateTable('otp_factors')
      .set({ secret: (await own.executeTakeFirstOrThrow()).secret })
      .where('accountBizId', '=', caller.accountId)
      .execute()
    at.clock.advance(300_000)
    await expect(verifyTotp(otpAt(secret))).rejects.toThrow('a sealed otp-secret does not open')
  })

  test.each([
    ['1234567', 'AUTH.CODE_INVALID'],
    ['abcdef', 'AUTH.CODE_INVALID'],
    ['12345', 'VALIDATION.INVALID_PARAMETER'],
    ['12-345', 'VALIDATION.INVALID_PARAMETER'],
    ['123_456', 'VALIDATION.INVALID_PARAMETER'],
    ["1' OR '1", 'VALIDATION.INVALID_PARAMETER'],
  ])('rejects %s with %s', async (code, refusal) => {
    await newSecret()
    expect(await codeOf(verifyTotp(code))).toBe(refusal)
  })
})

describe('a step-up', () => {
  test('is recorded in the session with its time', async () => {
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    at.clock.advance(30_000)
    await invoke(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(at, email) })
    const rows = await at.ports.database
      .selectFrom('sessions')
      .select('steppedUpAt')
      .where('accountBizId', '=', caller.accountId)
      .execute()
    expect(rows.map((row) => row.steppedUpAt)).toEqual([at.clock.now()])
  })

  test('is valid immediately on a replica that has cached the session and missed the invalidation', async () => {
    const isolated = await harness(undefined, (ports) => {
      ports.pubsub = { publish: () => undefined, subscribe: () => undefined }
    })
    try {
      const { clock, identity, settings } = isolated
      await isolated.account('elsewhere@demo.test')
      const { accessToken } = await signIn(isolated, 'elsewhere@demo.test')
      const self = await identity.authentication.accessToken(credential(accessToken))
      const { secret } = await call(identity, setupOtp, createRequestContext(clock), null, self)
      const code = generateSync({ secret, epoch: Math.floor(clock.now() / 1_000) })
      await call(identity, verifyOtp, createRequestContext(clock), { code }, self)
      clock.advance(settings.mfa.stepUpMs + 1)
      const other = await isolated.replica()
      const there = async (bypassCache: boolean) =>
        other.authentication.accessToken(credential(accessToken, { bypassCache }))
      // The first call records activity and therefore does not cache the session.
      await there(false)
      const before = await there(false)
      await call(identity, sendStepUpCode, createRequestContext(clock), { mfaMethod: 'EMAIL' }, self)
      const proof = { mfaMethod: 'EMAIL', code: mailedCode(isolated, 'elsewhere@demo.test') } as const
      await call(identity, stepUp, createRequestContext(clock), proof, self)
      expect((await there(false)).steppedUpAt).toBe(before.steppedUpAt)
      await call(other, revokeOtp, createRequestContext(clock), {}, await there(true))
      expect((await there(true)).steppedUpAt).toBe(clock.now())
      expect((await there(false)).steppedUpAt).toBe(clock.now())
      // An ended session is rejected with `bypassCache`, too.
      await call(identity, logout, createRequestContext(clock), null, self)
      expect((await there(false)).steppedUpAt).toBe(clock.now())
      expect(await codeOf(there(true))).toBe('ACCESS.TOKEN_INVALID')
    } finally {
      await isolated.close()
    }
  })

  test('mfa.otpRevoke 403 ACCESS.STEP_UP_REQUIRED: without a step-up, after the session has ended', async () => {
    await newSecret()
    await invoke(logout)
    expect(await codeOf(invoke(revokeOtp, {}))).toBe('ACCESS.STEP_UP_REQUIRED')
  })

  test('mfa.otpRevoke 403 ACCESS.STEP_UP_REQUIRED: if the clock was set back by an hour', async () => {
    await newSecret()
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    await invoke(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(at, email) })
    // As the pipeline's `stepUp` stage reads it.
    const steppedUp = { ...caller, steppedUpAt: at.clock.now() }
    const revoke = () => call(at.identity, revokeOtp, createRequestContext(at.clock), {}, steppedUp)
    at.clock.advance(-3_600_000)
    expect(await codeOf(revoke())).toBe('ACCESS.STEP_UP_REQUIRED')
    at.clock.advance(3_600_000)
    await revoke()
  })

  test('mfa.stepUpSend 200: after the clock was set back by an hour; the previous code is invalid', async () => {
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    const ahead = mailedCode(at, email)
    at.clock.advance(-3_600_000)
    expect(await codeOf(invoke(stepUp, { mfaMethod: 'EMAIL', code: ahead }))).toBe('AUTH.CODE_INVALID')
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    await invoke(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(at, email) })
    at.clock.advance(3_600_000)
  })

  test('mfa.stepUp 401 AUTH.CODE_INVALID: only the latest two mailed codes are valid, each until its own end', async () => {
    const codes: string[] = []
    for (let turn = 0; turn < 3; turn++) {
      at.clock.advance(300_000)
      await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
      codes.push(mailedCode(at, email))
    }
    const [first = '', second = '', third = ''] = codes
    const proof = (code: string) => invoke(stepUp, { mfaMethod: 'EMAIL', code })
    if (first !== second && first !== third) expect(await codeOf(proof(first))).toBe('AUTH.CODE_INVALID')
    at.clock.advance(300_000)
    if (second !== third) expect(await codeOf(proof(second))).toBe('AUTH.CODE_INVALID')
    await proof(third)
  })

  test('mfa.generateBackupCodes 200: stores only digests of the codes', async () => {
    const { codes } = await invoke(generateBackupCodes)
    expect(codes).toHaveLength(10)
    const forms = codes.flatMap((code) => [code, code.replaceAll('-', '')])
    expect(await storedInPlainText(at.ports.database, ...forms)).toEqual([])
  })

  test('with a backup code is mailed to the owner', async () => {
    const [code] = (await invoke(generateBackupCodes)).codes
    await invoke(stepUp, { mfaMethod: 'BACKUP_CODE', code })
    expect(await securityMails()).toContainEqual(expect.stringContaining('A backup code has been used'))
  })

  test('mfa.otpRevoke 200: the removal and the use of a backup code are mailed to the owner', async () => {
    await newSecret()
    const [code] = (await invoke(generateBackupCodes)).codes
    await invoke(revokeOtp, { code })
    expect(await securityMails()).toContainEqual(expect.stringContaining('authenticator app has been removed'))
    expect(await securityMails()).toContainEqual(expect.stringContaining('A backup code has been used'))
  })

  test('mfa.stepUpSend 200: remaining attempts are counted per account', async () => {
    for (let turn = 0; turn < 3; turn++) expect(await codeOf(verifyTotp('000000'))).toBe('AUTH.CODE_INVALID')
    expect((await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })).attemptsRemaining).toBe(2)
    await at.account('untried@demo.test')
    caller = await signedIn(at, 'untried@demo.test')
    at.clock.advance(30_000)
    expect((await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })).attemptsRemaining).toBe(5)
  })

  test('mfa.stepUp 401 AUTH.CODE_INVALID: for a used mailed code', async () => {
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    const proof = { mfaMethod: 'EMAIL', code: mailedCode(at, email) }
    await invoke(stepUp, proof)
    expect(await codeOf(invoke(stepUp, proof))).toBe('AUTH.CODE_INVALID')
  })

  test('mfa.stepUp 401 AUTH.CODE_INVALID: ten minutes after the code was mailed', async () => {
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    const code = mailedCode(at, email)
    at.clock.advance(600_000)
    expect(await codeOf(invoke(stepUp, { mfaMethod: 'EMAIL', code }))).toBe('AUTH.CODE_INVALID')
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    at.clock.advance(599_999)
    await invoke(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(at, email) })
  })

  test('mfa.stepUpSend 429 ACCESS.RATE_LIMITED: the last mailed code stays valid', async () => {
    const few = await harness((settings) => {
      settings.portals.CONSUMER.codeSends.limit = 2
    })
    try {
      await few.account('few@demo.test')
      const self = await signedIn(few, 'few@demo.test')
      const sendOne = () =>
        call(few.identity, sendStepUpCode, createRequestContext(few.clock), { mfaMethod: 'EMAIL' }, self)
      await sendOne()
      few.clock.advance(30_000)
      expect(await codeOf(sendOne())).toBe('ACCESS.RATE_LIMITED')
      const proof = { mfaMethod: 'EMAIL', code: mailedCode(few, 'few@demo.test') }
      await call(few.identity, stepUp, createRequestContext(few.clock), proof, self)
    } finally {
      await few.close()
    }
  })

  test('mfa.stepUp 429: five wrong codes lock out a session, but no sign-in', async () => {
    const secret = await newSecret()
    at.clock.advance(60_000)
    const right = otpAt(secret)
    const wrong = right === '000000' ? '111111' : '000000'
    const codes = await Promise.all(Array.from({ length: 15 }, () => codeOf(verifyTotp(wrong))))
    expect(codes.filter((code) => code === 'AUTH.CODE_INVALID')).toHaveLength(5)
    const refused = await refusalOf(verifyTotp(right))
    expect([refused.code, refused.detail.retryAfter]).toEqual(['ACCESS.RATE_LIMITED', 60])
    expect((await begin(at, email)).sessionId).toBeTypeOf('string')
    at.clock.advance(60_000)
    expect((await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })).attemptsRemaining).toBe(0)
    await verifyTotp(otpAt(secret))
    at.clock.advance(30_000)
    expect((await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })).attemptsRemaining).toBe(5)
  })
})
