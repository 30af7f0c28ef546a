import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { enrollAuthenticator } from '../../../src/identity/index.ts'
import { completeLogin } from '../../../src/identity/login/contract.ts'
import { listMfaMethods, revokeOtp, sendStepUpCode, stepUp } from '../../../src/identity/mfa/contract.ts'
import { resetPassword } from '../../../src/identity/passwords/contract.ts'
import type { AccountId, Caller, Permission, Portal } from '../../../src/kernel/index.ts'
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
  send,
} from '../harness.ts'
import { newPassword, requestResetLink, resetTokenOf } from '../recovery.ts'

let at: Harness
beforeAll(async () => {
  at = await harness((settings) => {
    settings.portals.CONSUMER.mfa.mailCodes = 'untilAuthenticator'
    settings.portals.SYSTEM.mfa.mailCodes = 'never'
  })
})
afterAll(() => at.close())

async function enroll(id: AccountId, email: string, portal: Portal = 'CONSUMER') {
  const enrolled = await inTransaction(at.ports.database, (tx) =>
    enrollAuthenticator(at.ports, tx, { portal, id, email }, 'Portico', at.clock.now()),
  )
  return { ...enrolled, backupCode: enrolled.backupCodes[0] ?? '' }
}
function otp(secret: string): string {
  at.clock.advance(60_000)
  return generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) })
}
function methodsOf({ mfaMethods }: { mfaMethods: { code: string }[] }) {
  return mfaMethods.map(({ code }) => code)
}
function finish(sessionId: string | null, mfaMethod: string, code: string, portal: Portal = 'CONSUMER') {
  return call(at.identity, completeLogin, createRequestContext(at.clock, { portal }), { sessionId, mfaMethod, code })
}
function callerOf(accessToken: string, portal: Portal = 'CONSUMER') {
  return at.identity.authentication.accessToken(credential(accessToken, { portal }))
}
function as<O extends Parameters<typeof call>[1]>(caller: Caller, operation: O, body: unknown = null) {
  return call(at.identity, operation, createRequestContext(at.clock, { portal: caller.portal }), body, caller)
}

describe('mailCodes: untilAuthenticator', () => {
  test('auth.loginInitiate 200: offers EMAIL first, and OTP instead of it with an authenticator', async () => {
    const id = await at.account('until@demo.test')
    expect(methodsOf(await initiate(at, 'until@demo.test'))).toEqual(['EMAIL'])
    await enroll(id, 'until@demo.test')
    expect(methodsOf(await initiate(at, 'until@demo.test'))).toEqual(['OTP', 'BACKUP_CODE'])
  })

  test('auth.mfaSend and auth.loginComplete 403: a mailed code from before the authenticator', async () => {
    const id = await at.account('early@demo.test')
    const { sessionId, code } = await begin(at, 'early@demo.test')
    const { secret } = await enroll(id, 'early@demo.test')
    expect(await codeOf(complete(at, sessionId, code))).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
    expect(await codeOf(send(at, sessionId))).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
    expect(await finish(sessionId, 'OTP', otp(secret))).toMatchObject({ tokenType: 'Bearer' })
  })

  test('mfa.stepUpSend and mfa.stepUp 403: mailed codes; a backup code works', async () => {
    const id = await at.account('step@demo.test')
    const { sessionId, code } = await begin(at, 'step@demo.test')
    const caller = await callerOf((await complete(at, sessionId, code)).accessToken)
    const { backupCode } = await enroll(id, 'step@demo.test')
    expect(await codeOf(as(caller, sendStepUpCode, { mfaMethod: 'EMAIL' }))).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
    expect(await codeOf(as(caller, stepUp, { mfaMethod: 'EMAIL', code: '123456' }))).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
    expect(await as(caller, stepUp, { mfaMethod: 'BACKUP_CODE', code: backupCode })).toMatchObject({ success: true })
  })

  test('mfa.list 200: EMAIL is not enabled with an authenticator, and is enabled after its removal', async () => {
    const id = await at.account('list@demo.test')
    const { sessionId, code } = await begin(at, 'list@demo.test')
    const caller = await callerOf((await complete(at, sessionId, code)).accessToken)
    const { backupCode } = await enroll(id, 'list@demo.test')
    const email = async () => (await as(caller, listMfaMethods)).find(({ mfaMethod }) => mfaMethod.code === 'EMAIL')
    expect(await email()).toMatchObject({ isEnabled: false, isPrimary: false })
    await as(caller, revokeOtp, { code: backupCode })
    expect(await email()).toMatchObject({ isEnabled: true, isPrimary: true })
  })
})

describe('mailCodes: never', () => {
  const operator = (email: string, ...operatorPermissions: Permission[]) =>
    at.account(email, { portal: 'SYSTEM', operatorPermissions })
  const initiateOperator = (email: string) => initiate(at, email, { portal: 'SYSTEM' })

  test.each<Permission>([
    'withdrawal:approve',
    'withdrawal-channel:verify',
    'withdrawal:settle',
    'exchange-rate:manage',
  ])(
    'auth.loginInitiate 403 AUTH.AUTHENTICATOR_REQUIRED: an operator with %s and no authenticator',
    async (permission) => {
      const email = `${permission.replace(':', '-')}@demo.test`
      await operator(email, 'account:read', permission)
      expect(await codeOf(initiateOperator(email))).toBe('AUTH.AUTHENTICATOR_REQUIRED')
    },
  )

  test('auth.loginInitiate 401: a wrong password reveals nothing about second factors', async () => {
    await operator('quiet@demo.test', 'withdrawal:approve')
    const wrong = initiate(at, 'quiet@demo.test', { portal: 'SYSTEM' }, 'wrong')
    expect(await codeOf(wrong)).toBe('AUTH.INVALID_CREDENTIALS')
  })

  test('auth.loginInitiate 200: an operator who only reads can use mail until the authenticator', async () => {
    const id = await operator('reader@demo.test', 'account:read')
    expect(methodsOf(await initiateOperator('reader@demo.test'))).toEqual(['EMAIL'])
    await enroll(id, 'reader@demo.test', 'SYSTEM')
    expect(methodsOf(await initiateOperator('reader@demo.test'))).toEqual(['OTP', 'BACKUP_CODE'])
  })

  test('mfa.otpRevoke 403 AUTH.AUTHENTICATOR_REQUIRED: keeps the authenticator of an approver, and the code', async () => {
    const id = await operator('keeper@demo.test', 'withdrawal:approve')
    const { secret, backupCode } = await enroll(id, 'keeper@demo.test', 'SYSTEM')
    const { sessionId, mfaMethods } = await initiateOperator('keeper@demo.test')
    expect(methodsOf({ mfaMethods })).toEqual(['OTP', 'BACKUP_CODE'])
    const { accessToken } = await finish(sessionId, 'OTP', otp(secret), 'SYSTEM')
    const caller = await callerOf(accessToken, 'SYSTEM')
    expect(await codeOf(as(caller, revokeOtp, { code: backupCode }))).toBe('AUTH.AUTHENTICATOR_REQUIRED')
    expect(await as(caller, stepUp, { mfaMethod: 'BACKUP_CODE', code: backupCode })).toMatchObject({ success: true })
  })
})

describe('password.reset of an account with an authenticator', () => {
  const account = async (email: string) => {
    const id = await at.account(email)
    const enrolled = await enroll(id, email)
    // Young backup codes are not accepted for an account with an authenticator.
    at.clock.advance(4 * 86_400_000)
    await requestResetLink(at, email)
    return { ...enrolled, id, token: resetTokenOf(at, email) ?? '' }
  }
  const reset = (body: object) =>
    call(at.identity, resetPassword, createRequestContext(at.clock), { newPassword, ...body })

  test('403 ACCESS.STEP_UP_REQUIRED: without a code; the token stays valid for a code', async () => {
    const { token, secret } = await account('strong@demo.test')
    expect(await codeOf(reset({ token }))).toBe('ACCESS.STEP_UP_REQUIRED')
    const done = await reset({ token, mfaMethod: 'OTP', code: otp(secret) })
    expect(done).toEqual({ success: true, terminatedSessions: 0 })
    expect((await initiate(at, 'strong@demo.test', {}, newPassword)).sessionId).toBeTypeOf('string')
  })

  test('200: with a backup code, which works once', async () => {
    const { token, backupCode } = await account('recover@demo.test')
    await reset({ token, mfaMethod: 'BACKUP_CODE', code: backupCode })
    await requestResetLink(at, 'recover@demo.test')
    const again = { token: resetTokenOf(at, 'recover@demo.test'), mfaMethod: 'BACKUP_CODE', code: backupCode }
    expect(await codeOf(reset(again))).toBe('AUTH.CODE_INVALID')
  })

  test('401 AUTH.CODE_INVALID: ten wrong codes, then 429; sign-ins are not locked out', async () => {
    const { id, token, secret } = await account('guessed@demo.test')
    const guess = () => reset({ token, mfaMethod: 'BACKUP_CODE', code: 'AAAAA-AAAAA' })
    for (let turn = 0; turn < 10; turn++) expect(await codeOf(guess())).toBe('AUTH.CODE_INVALID')
    expect(await codeOf(guess())).toBe('ACCESS.RATE_LIMITED')
    const { sessionId } = await initiate(at, 'guessed@demo.test')
    expect(await finish(sessionId, 'OTP', otp(secret))).toMatchObject({ tokenType: 'Bearer' })
    const refusals = await at.ports.database
      .selectFrom('audit_log')
      .select('detail')
      .where('targetBizId', '=', id)
      .where('outcome', '=', 'REFUSED')
      .execute()
    expect(refusals.map(({ detail }) => detail)).toEqual(Array.from({ length: 10 }, () => ({ reason: 'CODE_INVALID' })))
  })

  test.each([[{ mfaMethod: 'EMAIL', code: '123456' }], [{ mfaMethod: 'OTP' }], [{ code: '123456' }]])(
    '400 VALIDATION.INVALID_PARAMETER: %j',
    async (factor) => {
      expect(await codeOf(reset({ token: 'a'.repeat(43), ...factor }))).toBe('VALIDATION.INVALID_PARAMETER')
    },
  )

  test('200: an account without an authenticator needs no code', async () => {
    await at.account('plain@demo.test')
    await requestResetLink(at, 'plain@demo.test')
    const done = await reset({ token: resetTokenOf(at, 'plain@demo.test') })
    expect(done).toEqual({ success: true, terminatedSessions: 0 })
  })
})
