import { generateSync } from 'otplib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { areFactorsUsedSince, type EnrolledFactors, enrollAuthenticator } from '../../../src/identity/index.ts'
import { completeLogin } from '../../../src/identity/login/contract.ts'
import {
  generateBackupCodes,
  listMfaMethods,
  revokeOtp,
  setupOtp,
  verifyOtp,
} from '../../../src/identity/mfa/contract.ts'
import { resetPassword, undoFactors } from '../../../src/identity/passwords/contract.ts'
import { type AccountId, type Caller, hours, minutes } from '../../../src/kernel/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import {
  call,
  codeOf,
  complete,
  createRequestContext,
  credential,
  type Harness,
  harness,
  initiate,
  mailedCode,
  runJobs,
  send,
  signedIn,
} from '../harness.ts'
import { callAnonymously, newPassword, requestResetLink, resetTokenOf } from '../recovery.ts'

const window = hours(72)

let at: Harness
let suspended: AccountId[] = []
beforeAll(async () => {
  at = await harness(
    (settings) => {
      settings.portals.CONSUMER.mfa.mailCodes = 'untilAuthenticator'
      settings.portals.CONSUMER.codeSends.limit = 1_000
      settings.sessions.idleMs = hours(10_000)
      settings.sessions.absoluteMs = hours(10_000)
    },
    (ports) => {
      ports.suspendCredentials = async (_tx, { accountId }) => {
        suspended.push(accountId)
        return { apiKeys: 1 }
      }
    },
  )
})
afterAll(async () => {
  expect(at.loggedErrors).toEqual([])
  await at.close()
})

let count = 0
let email: string
let accountId: AccountId
let caller: Caller
beforeEach(async () => {
  suspended = []
  email = `young${count++}@demo.test`
  accountId = await at.account(email)
  caller = await signedIn(at, email)
})

/** As the holder of the caller's session, which has just stepped up. */
function invoke<O extends Parameters<typeof call>[1]>(operation: O, body: unknown = null) {
  return call(at.identity, operation, createRequestContext(at.clock), body, caller)
}
function otpAt(secret: string, seconds = 0): string {
  return generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) + seconds })
}
async function enroll(): Promise<string> {
  const { secret } = await invoke(setupOtp)
  await invoke(verifyOtp, { code: otpAt(secret, -30) })
  return secret
}
function revoke(secret: string) {
  return invoke(revokeOtp, { code: otpAt(secret) })
}
async function reset(factor: object = {}) {
  await requestResetLink(at, email)
  return callAnonymously(at, resetPassword, { token: resetTokenOf(at, email), newPassword, ...factor })
}
async function mails(template: string) {
  await runJobs(at)
  return at.outbox.list().filter((mail) => mail.to === email && mail.template === template)
}
async function undoToken(): Promise<string> {
  const [newest] = await mails('factor-added')
  return /\/undo-factors#token=([\w-]{43})/.exec(newest?.text ?? '')?.[1] ?? ''
}
function undo(token: string) {
  return callAnonymously(at, undoFactors, { token })
}
async function enabledMethods() {
  return (await invoke(listMfaMethods)).filter(({ isEnabled }) => isEnabled).map(({ mfaMethod: { code } }) => code)
}
function usedSince(since: ReturnType<typeof at.clock.now>) {
  return at.ports.database
    .transaction()
    .execute((tx) => areFactorsUsedSince(tx, { portal: 'CONSUMER', id: accountId }, since, window))
}

describe('password reset by link', () => {
  test('password.reset 200: a young authenticator does not bind it, and does not survive it', async () => {
    await enroll()
    await invoke(generateBackupCodes)
    at.clock.advance(window - minutes(1))
    expect((await reset()).success).toBe(true)
    expect(await enabledMethods()).toEqual(['EMAIL'])
    expect((await mails('security-change')).map(({ text }) => text).join()).toMatch(
      /backup codes that were generated last.*authenticator app has been removed/s,
    )
    const { sessionId } = await initiate(at, email, {}, newPassword)
    expect(sessionId).toBeTypeOf('string')
  })

  test('password.reset 403 ACCESS.STEP_UP_REQUIRED: an authenticator as old as the window binds it', async () => {
    await enroll()
    at.clock.advance(window)
    expect(await codeOf(reset())).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await enabledMethods()).toEqual(['OTP'])
  })

  test('password.reset 403: an old authenticator still binds it after it was replaced', async () => {
    await enroll()
    at.clock.advance(window)
    for (let replacements = 0; replacements < 3; replacements++) {
      await enroll()
      at.clock.advance(window / 2)
      expect(await codeOf(reset())).toBe('ACCESS.STEP_UP_REQUIRED')
    }
  })

  test('password.reset 403: an old authenticator still binds it after it was removed and added again', async () => {
    const secret = await enroll()
    at.clock.advance(window)
    await revoke(secret)
    at.clock.advance(minutes(1))
    await enroll()
    expect(await codeOf(reset())).toBe('ACCESS.STEP_UP_REQUIRED')
  })

  test('password.reset 403: an old authenticator still binds it for the window after it was removed', async () => {
    const secret = await enroll()
    at.clock.advance(window)
    await revoke(secret)
    expect(await codeOf(reset())).toBe('ACCESS.STEP_UP_REQUIRED')
    at.clock.advance(window)
    expect((await reset()).success).toBe(true)
  })

  test('password.reset 200: a young authenticator that was removed does not bind it', async () => {
    await revoke(await enroll())
    expect((await reset()).success).toBe(true)
  })

  test('password.reset 403: the code of a young replacement does not satisfy what an old one asks for', async () => {
    const { codes } = await invoke(generateBackupCodes)
    await enroll()
    at.clock.advance(window)
    const thief = await enroll()
    at.clock.advance(window - minutes(1))
    expect(await codeOf(reset({ mfaMethod: 'OTP', code: otpAt(thief) }))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect((await reset({ mfaMethod: 'BACKUP_CODE', code: codes[0] })).success).toBe(true)
  })

  test('password.reset 200: a replacement as old as the window satisfies it', async () => {
    await enroll()
    at.clock.advance(window)
    const replacement = await enroll()
    at.clock.advance(window)
    expect((await reset({ mfaMethod: 'OTP', code: otpAt(replacement) })).success).toBe(true)
  })

  test('password.reset 403: a young backup code does not replace an old authenticator', async () => {
    const secret = await enroll()
    at.clock.advance(window)
    const { codes } = await invoke(generateBackupCodes)
    const byBackupCode = { mfaMethod: 'BACKUP_CODE', code: codes[0] }
    expect(await codeOf(reset(byBackupCode))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect((await reset({ mfaMethod: 'OTP', code: otpAt(secret) })).success).toBe(true)
  })

  test('password.reset 200: an authenticator that was removed long ago does not make a new one look old', async () => {
    const secret = await enroll()
    at.clock.advance(window)
    await revoke(secret)
    at.clock.advance(window)
    await enroll()
    expect((await reset()).success).toBe(true)
  })

  test('password.reset 200: the young factor of the request stays', async () => {
    const secret = await enroll()
    await invoke(generateBackupCodes)
    at.clock.advance(minutes(1))
    expect(await codeOf(reset({ mfaMethod: 'OTP', code: '000000' }))).toBe('AUTH.CODE_INVALID')
    await reset({ mfaMethod: 'OTP', code: otpAt(secret) })
    expect(await enabledMethods()).toEqual(['OTP'])
  })

  describe('of an operator whose factors the CLI has just issued', () => {
    const system = { portal: 'SYSTEM' } as const
    let operator: { portal: 'SYSTEM'; id: AccountId; email: string }
    let issued: EnrolledFactors
    beforeEach(async () => {
      operator = { ...system, id: await at.account(`op-${email}`, system), email: `op-${email}` }
      issued = await at.ports.database
        .transaction()
        .execute((tx) => enrollAuthenticator(at.ports, tx, operator, 'Portico', at.clock.now()))
    })
    const resetOperator = async (factor: object = {}) => {
      await requestResetLink(at, operator.email, system)
      const body = { token: resetTokenOf(at, operator.email), newPassword, ...factor }
      return callAnonymously(at, resetPassword, body, system)
    }
    const usedByOperatorSince = (since: ReturnType<typeof at.clock.now>) =>
      at.ports.database.transaction().execute((tx) => areFactorsUsedSince(tx, operator, since, window))

    test('password.reset 403: the authenticator binds it from the beginning', async () => {
      expect(await codeOf(resetOperator())).toBe('ACCESS.STEP_UP_REQUIRED')
    })

    test('password.reset 200: each issued factor satisfies it and cancels a reset by operators', async () => {
      const since = at.clock.now()
      at.clock.advance(minutes(1))
      expect((await resetOperator({ mfaMethod: 'BACKUP_CODE', code: issued.backupCodes[0] })).success).toBe(true)
      expect(await usedByOperatorSince(since)).toBe(true)
      const later = at.clock.now()
      at.clock.advance(minutes(1))
      expect((await resetOperator({ mfaMethod: 'OTP', code: otpAt(issued.secret) })).success).toBe(true)
      expect(await usedByOperatorSince(later)).toBe(true)
    })

    test('password.reset 403: what replaced the issued factors is young', async () => {
      const since = at.clock.now()
      at.clock.advance(minutes(1))
      const { sessionId } = await initiate(at, operator.email, system)
      const byOtp = { sessionId, mfaMethod: 'OTP', code: otpAt(issued.secret) }
      const { accessToken } = await callAnonymously(at, completeLogin, byOtp, system)
      const stolen = await at.identity.authentication.accessToken(credential(accessToken, system))
      const asThief = <O extends Parameters<typeof call>[1]>(operation: O, body: unknown = null) =>
        call(at.identity, operation, createRequestContext(at.clock, system), body, stolen)
      const { secret } = await asThief(setupOtp)
      await asThief(verifyOtp, { code: otpAt(secret, -30) })
      const { codes } = await asThief(generateBackupCodes)
      for (const factor of [
        { mfaMethod: 'OTP', code: otpAt(secret) },
        { mfaMethod: 'BACKUP_CODE', code: codes[0] },
      ])
        expect(await codeOf(resetOperator(factor))).toBe('ACCESS.STEP_UP_REQUIRED')
      expect(await usedByOperatorSince(since)).toBe(true)
    })
  })

  test('auth.loginComplete 200: after a reset by link, a known device is new', async () => {
    await reset()
    const { sessionId } = await initiate(at, email, {}, newPassword)
    await send(at, sessionId)
    expect((await complete(at, sessionId, mailedCode(at, email))).isNewDevice).toBe(true)
  })
})

describe('undo link', () => {
  test('password.undoFactors 200: removes the factors, ends the sessions and suspends credentials', async () => {
    await enroll()
    await invoke(generateBackupCodes)
    const [first, second] = await mails('factor-added')
    expect([first, second].map((mail) => mail?.text)).toEqual([
      expect.stringContaining('New backup codes have been generated'),
      expect.stringContaining('An authenticator app has been added'),
    ])
    const token = await undoToken()
    expect(await storedInPlainText(at.ports.database, token)).toEqual([])
    const done = await undo(token)
    expect(done).toMatchObject({ success: true, terminatedSessions: 1, suspendedCredentials: { apiKeys: 1 } })
    expect(done.removedFactors.map(({ code }) => code)).toEqual(['OTP', 'BACKUP_CODE'])
    expect(suspended).toEqual([accountId])
    expect(await enabledMethods()).toEqual(['EMAIL'])
    const devices = at.ports.database.selectFrom('known_devices').selectAll().where('accountBizId', '=', accountId)
    expect(await devices.execute()).toEqual([])
    const [audited] = await at.ports.database
      .selectFrom('audit_log')
      .select(['targetBizId', 'detail'])
      .where('action', '=', undoFactors.id)
      .orderBy('at', 'desc')
      .execute()
    expect(audited).toEqual({
      targetBizId: accountId,
      detail: { sessions: 1, removedFactors: 'OTP,BACKUP_CODE', 'suspended.apiKeys': 1 },
    })
    expect(await mails('security-change')).toHaveLength(2)
  })

  test('password.undoFactors 404: used, cancelled by another link, expired, or of another portal', async () => {
    await enroll()
    const older = await undoToken()
    await invoke(generateBackupCodes)
    const token = await undoToken()
    expect(older).not.toBe(token)
    expect(await codeOf(callAnonymously(at, undoFactors, { token }, { portal: 'SYSTEM' }))).toBe(
      'AUTH.SESSION_NOT_FOUND',
    )
    const both = await Promise.allSettled([undo(token), undo(token)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    for (const spent of [older, token, 'x'.repeat(43), 'short'])
      expect(await codeOf(undo(spent))).toBe('AUTH.SESSION_NOT_FOUND')
    caller = await signedIn(at, email)
    await enroll()
    const late = await undoToken()
    at.clock.advance(window)
    expect(await codeOf(undo(late))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await enabledMethods()).toEqual(['OTP'])
  })

  test('password.undoFactors 200: keeps a factor that the account had before', async () => {
    await enroll()
    at.clock.advance(window)
    await invoke(generateBackupCodes)
    const { removedFactors } = await undo(await undoToken())
    expect(removedFactors.map(({ code }) => code)).toEqual(['BACKUP_CODE'])
    expect(await enabledMethods()).toEqual(['OTP'])
  })

  test('password.undoFactors 200: after a replacement, the mailbox alone does not open the account', async () => {
    const { codes } = await invoke(generateBackupCodes)
    const old = await enroll()
    at.clock.advance(window)
    const thief = await enroll()
    await undo(await undoToken())
    at.clock.advance(minutes(1))
    expect(await enabledMethods()).toEqual(['OTP', 'BACKUP_CODE'])
    const { sessionId, mfaMethods } = await initiate(at, email)
    expect(mfaMethods.map(({ code }) => code)).not.toContain('EMAIL')
    const finish = (secret: string) =>
      codeOf(callAnonymously(at, completeLogin, { sessionId, mfaMethod: 'OTP', code: otpAt(secret) }))
    expect([await finish(thief), await finish(old)]).toEqual(['AUTH.CODE_INVALID', 'AUTH.CODE_INVALID'])
    expect(await codeOf(reset())).toBe('ACCESS.STEP_UP_REQUIRED')
    expect((await reset({ mfaMethod: 'BACKUP_CODE', code: codes[0] })).success).toBe(true)
  })
})

describe('use of a factor since a request of operators', () => {
  test('a factor that was young then does not count, however old it is now', async () => {
    const { codes } = await invoke(generateBackupCodes)
    const secret = await enroll()
    at.clock.advance(window - 1)
    const since = at.clock.now()
    at.clock.advance(minutes(2))
    await revoke(secret)
    expect(await usedSince(since)).toBe(false)
    caller = await signedIn(at, email)
    await enroll()
    await invoke(generateBackupCodes)
    expect(codes).toHaveLength(10)
    expect(await usedSince(since)).toBe(false)
  })

  const enter = async (factor: object) => {
    const { sessionId } = await initiate(at, email, {}, newPassword)
    const { accessToken } = await callAnonymously(at, completeLogin, { sessionId, ...factor })
    caller = await at.identity.authentication.accessToken(credential(accessToken))
  }

  test('an old factor counts, even after a thief has replaced or removed it', async () => {
    const secret = await enroll()
    const { codes } = await invoke(generateBackupCodes)
    at.clock.advance(window)
    const since = at.clock.now()
    at.clock.advance(minutes(2))
    expect(await usedSince(since)).toBe(false)
    await reset({ mfaMethod: 'BACKUP_CODE', code: codes[0] })
    expect(await usedSince(since)).toBe(true)
    await enter({ mfaMethod: 'BACKUP_CODE', code: codes[1] })
    await invoke(generateBackupCodes)
    expect(await usedSince(since)).toBe(true)
    const later = at.clock.now()
    at.clock.advance(minutes(2))
    expect(await usedSince(later)).toBe(false)
    await reset({ mfaMethod: 'OTP', code: otpAt(secret) })
    expect(await usedSince(later)).toBe(true)
    await enter({ mfaMethod: 'OTP', code: otpAt(secret, 30) })
    await enroll()
    expect(await usedSince(later)).toBe(true)
  })
})
