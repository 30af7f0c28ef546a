import { generateSync } from 'otplib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { enableIpWhitelist, replaceIpWhitelist } from '../../src/identity/ip-whitelist/contract.ts'
import { logout, refreshToken } from '../../src/identity/login/contract.ts'
import {
  generateBackupCodes,
  revokeOtp,
  sendStepUpCode,
  setupOtp,
  stepUp,
  verifyOtp,
} from '../../src/identity/mfa/contract.ts'
import { changePassword, forgotPassword, initPassword, resetPassword } from '../../src/identity/passwords/contract.ts'
import {
  completeRegistration,
  initiateRegistration,
  verifyRegistrationEmail,
} from '../../src/identity/registration/contract.ts'
import { configureSessions, terminateAllSessions, terminateSession } from '../../src/identity/sessions/contract.ts'
import type { Caller } from '../../src/kernel/index.ts'
import { rowsOf } from '../harness/rows.ts'
import {
  begin,
  call,
  codeOf,
  complete,
  createRequestContext,
  credential,
  type Harness,
  harness,
  initiate,
  mailedCode,
  signIn,
} from './harness.ts'

const email = 'self@demo.test'
const neighbour = 'neighbour@demo.test'
const password = 'correct horse battery staple'
const newPassword = 'violet-Anchor-Tundra-58'

/** The neighbour has a row in every table. */
describe('rows of other accounts stay unchanged', () => {
  let at: Harness
  let others: ReadonlySet<string>
  let theirs: { caller: Caller; backupCode: string }
  let caller: Caller

  const otp = (secret: string) => generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) })
  const signedIn = async (address: string, clientHash = 'client-one') => {
    const session = await signIn(at, address, { clientHash })
    at.clock.advance(30_000)
    return at.identity.authentication.accessToken(credential(session.accessToken, { clientHash }))
  }
  const as = (self: Caller) =>
    function invoke<O extends Parameters<typeof call>[1]>(operation: O, body: unknown = null) {
      return call(at.identity, operation, createRequestContext(at.clock), body, self)
    }
  const own: ReturnType<typeof as> = (operation, body) => as(caller)(operation, body)
  const anonymously = <O extends Parameters<typeof call>[1]>(operation: O, body: unknown) =>
    call(at.identity, operation, createRequestContext(at.clock), body)
  const resetToken = (to: string) =>
    /#token=([\w-]+)/.exec(at.outbox.list().find((mail) => mail.to === to)?.text ?? '')?.[1]
  const requestLink = async (address: string) => {
    await anonymously(forgotPassword, { email: address, turnstileToken: '' })
    await at.background.idle()
  }
  const beginRegistration = async (address: string) => {
    const { sessionId } = await anonymously(initiateRegistration, { email: address, turnstileToken: '' })
    await at.background.idle()
    return { sessionId, code: mailedCode(at, address) }
  }
  /** Returns the token for the first password. */
  const completeNewRegistration = async (address: string) => {
    const { sessionId, code } = await beginRegistration(address)
    await anonymously(verifyRegistrationEmail, { sessionId, code })
    return (await anonymously(completeRegistration, { sessionId, accountName: 'New' })).passwordInitToken
  }

  const populate = async () => {
    await at.account(neighbour)
    await at.account(email, { portal: 'SYSTEM' })
    await completeNewRegistration('no-password-yet@demo.test')
    await beginRegistration('registering@demo.test')
    const self = await signedIn(neighbour)
    const invoke = as(self)
    const { secret } = await invoke(setupOtp)
    await invoke(verifyOtp, { code: otp(secret) })
    await invoke(setupOtp)
    const { codes } = await invoke(generateBackupCodes)
    await invoke(replaceIpWhitelist, { addresses: ['203.0.113.0/24'] })
    await invoke(enableIpWhitelist, {})
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
    expect(await codeOf(invoke(stepUp, { mfaMethod: 'EMAIL', code: '000000' }))).toBe('AUTH.CODE_INVALID')
    await signedIn(neighbour, 'client-two')
    await requestLink(neighbour)
    await begin(at, neighbour)
    expect(await codeOf(initiate(at, neighbour, {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    return { caller: self, backupCode: codes[0] ?? '' }
  }

  beforeAll(async () => {
    at = await harness((settings) => {
      settings.portals.CONSUMER.selfRegistration = 'open'
      settings.portals.CONSUMER.codeSends.limit = 1_000
    })
    theirs = await populate()
    others = await rowsOf(at.ports.database)
    await at.account(email)
    caller = await signedIn(email)
  })
  beforeEach(() => expect(others.size).toBeGreaterThan(20))
  afterEach(async () => {
    const now = await rowsOf(at.ports.database)
    const changed = [...others.difference(now)]
    // Only the test that caused a change reports it.
    others = others.intersection(now)
    expect(changed, changed.join('\n')).toEqual([])
  })
  afterAll(() => at.close())

  test('auth.loginInitiate 401 and 200, auth.loginComplete 401 and 200', async () => {
    expect(await codeOf(initiate(at, email, {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    const { sessionId, code } = await begin(at, email)
    expect(await codeOf(complete(at, sessionId, code === '000000' ? '111111' : '000000'))).toBe('AUTH.CODE_INVALID')
    await complete(at, sessionId, code)
    at.clock.advance(30_000)
  })

  test('auth.refresh 200 and 404, and the use of the session', async () => {
    const { refreshToken: token, accessToken } = await signIn(at, email)
    await anonymously(refreshToken, { refreshToken: token })
    at.clock.advance(60_000)
    await at.identity.authentication.accessToken(credential(accessToken))
    at.clock.advance(at.settings.tokens.refreshRetryMs)
    expect(await codeOf(anonymously(refreshToken, { refreshToken: token }))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('mfa.otpSetup, mfa.otpVerify, mfa.stepUp and mfa.otpRevoke 200', async () => {
    const { secret } = await own(setupOtp)
    await own(verifyOtp, { code: otp(secret) })
    at.clock.advance(30_000)
    await own(stepUp, { mfaMethod: 'OTP', code: otp(secret) })
    // As the pipeline's `stepUp` stage reads it.
    await as({ ...caller, steppedUpAt: at.clock.now() })(revokeOtp, {})
  })

  test('mfa.stepUpSend 200, mfa.stepUp 401 and 200 with a mailed code', async () => {
    await own(sendStepUpCode, { mfaMethod: 'EMAIL' })
    const code = mailedCode(at, email)
    const wrong = { mfaMethod: 'EMAIL', code: code === '000000' ? '111111' : '000000' }
    expect(await codeOf(own(stepUp, wrong))).toBe('AUTH.CODE_INVALID')
    await own(stepUp, { mfaMethod: 'EMAIL', code })
    at.clock.advance(30_000)
  })

  test('mfa.generateBackupCodes 200, mfa.stepUp 401 with a code of the neighbour and 200 with its own', async () => {
    await own(generateBackupCodes)
    const { codes } = await own(generateBackupCodes)
    const foreign = { mfaMethod: 'BACKUP_CODE', code: theirs.backupCode }
    expect(await codeOf(own(stepUp, foreign))).toBe('AUTH.CODE_INVALID')
    await own(stepUp, { mfaMethod: 'BACKUP_CODE', code: codes[0] })
  })

  test('ipWhitelist.replace and ipWhitelist.enable 200, and a sign-in from an allowed address', async () => {
    await own(replaceIpWhitelist, { addresses: ['203.0.113.0/24', '198.51.100.0/24'] })
    await own(enableIpWhitelist, {})
    caller = await signedIn(email)
  })

  test('sessions.terminate 404 for a session of the neighbour, 200 for its own', async () => {
    expect(await codeOf(own(terminateSession, { sessionId: theirs.caller.sessionId }))).toBe('RESOURCE.NOT_FOUND')
    const { sessionId } = await signedIn(email)
    await own(terminateSession, { sessionId })
  })

  test('sessions.configure, sessions.terminateAll and auth.logout 200', async () => {
    await signedIn(email)
    await own(configureSessions, { maxConcurrentSessions: 1 })
    await own(configureSessions, { maxConcurrentSessions: 5 })
    await signedIn(email)
    await own(terminateAllSessions)
    await own(logout)
    caller = await signedIn(email)
  })

  test('password.change, password.forgot and password.reset 200', async () => {
    await begin(at, email)
    await own(changePassword, { currentPassword: password, newPassword })
    await requestLink(email)
    await anonymously(resetPassword, { token: resetToken(email), newPassword: password })
    caller = await signedIn(email)
  })

  test('registration.complete and password.init 200', async () => {
    await anonymously(initPassword, { token: await completeNewRegistration('another@demo.test'), newPassword })
  })
})
