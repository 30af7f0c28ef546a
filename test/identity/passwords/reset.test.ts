import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { refreshToken as refreshOperation } from '../../../src/identity/login/contract.ts'
import { resetPassword } from '../../../src/identity/passwords/contract.ts'
import { verifyRegistrationEmail } from '../../../src/identity/registration/contract.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import { begin as beginLogin, codeOf, complete, type Harness, initiate, signIn } from '../harness.ts'
import { interceptVerify, type RunAfterVerify } from '../intercept-verify.ts'
import {
  beginRegistration,
  callAnonymously,
  newPassword,
  recoveryHarness,
  requestResetLink,
  resetTokenOf,
} from '../recovery.ts'

let at: Harness
let runAfterVerify: RunAfterVerify
beforeAll(async () => {
  at = await recoveryHarness((ports) => {
    runAfterVerify = interceptVerify(ports)
  })
})
afterAll(async () => {
  expect(at.loggedErrors).toEqual([])
  await at.close()
})

function invoke<O extends Parameters<typeof callAnonymously>[1]>(operation: O, body: unknown) {
  return callAnonymously(at, operation, body)
}
function requestLink(email: string) {
  return requestResetLink(at, email)
}
function resetToken(email: string) {
  return resetTokenOf(at, email)
}
function begin(email: string) {
  return beginRegistration(at, email)
}

describe('password reset', () => {
  test('password.reset 404: after 30 minutes; only a digest of the token is stored', async () => {
    await at.account('link@demo.test')
    await requestLink('link@demo.test')
    const token = resetToken('link@demo.test') ?? ''
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await storedInPlainText(at.ports.database, token)).toEqual([])
    at.clock.advance(1_800_000)
    expect(await codeOf(invoke(resetPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    await requestLink('link@demo.test')
    at.clock.advance(1_799_999)
    const done = await invoke(resetPassword, { token: resetToken('link@demo.test'), newPassword })
    expect(done).toEqual({ success: true, terminatedSessions: 0 })
  })

  test('password.reset 404: if the clock was set back, as in registration.verifyEmail', async () => {
    await at.account('back@demo.test')
    await requestLink('back@demo.test')
    const { sessionId, code } = await begin('backwards@demo.test')
    at.clock.advance(-3_600_000)
    const token = resetToken('back@demo.test')
    expect(await codeOf(invoke(resetPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(invoke(verifyRegistrationEmail, { sessionId, code }))).toBe('AUTH.SESSION_NOT_FOUND')
    at.clock.advance(3_600_000)
  })

  test('password.forgot 200: mails nothing to a suspended account; password.reset 404 for an earlier link', async () => {
    const id = await at.account('out@demo.test')
    await requestLink('out@demo.test')
    const suspend = at.ports.database.updateTable('accounts').set({ accountStatus: 'SUSPENDED' })
    await suspend.where('bizId', '=', id).execute()
    const mails = at.outbox.list().length
    await requestLink('out@demo.test')
    expect(at.outbox.list()).toHaveLength(mails)
    const token = resetToken('out@demo.test')
    expect(await codeOf(invoke(resetPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('password.reset 200: cancels pending sign-ins with the old password, using an index', async () => {
    const id = await at.account('pending@demo.test')
    const login = await beginLogin(at, 'pending@demo.test')
    await requestLink('pending@demo.test')
    await invoke(resetPassword, { token: resetToken('pending@demo.test'), newPassword })
    expect(await codeOf(complete(at, login.sessionId, login.code))).toBe('AUTH.SESSION_NOT_FOUND')
    const { rows } = await sql`EXPLAIN UPDATE login_sessions SET spent_at = now() WHERE portal = 'CONSUMER'
      AND kind = 'LOGIN' AND account_biz_id = ${id} AND spent_at IS NULL`.execute(at.ports.database)
    expect(JSON.stringify(rows)).toContain('login_sessions_under_way')
  })

  test('password.reset 200: ends sessions and sign-ins that a fast clock shows as expired', async () => {
    await at.account('ahead@demo.test')
    const { refreshToken } = await signIn(at, 'ahead@demo.test')
    at.clock.advance(30_000)
    const login = await beginLogin(at, 'ahead@demo.test')
    at.clock.advance(3_600_000)
    await requestLink('ahead@demo.test')
    const done = await invoke(resetPassword, { token: resetToken('ahead@demo.test'), newPassword })
    expect(done).toEqual({ success: true, terminatedSessions: 0 })
    at.clock.advance(-3_600_000)
    expect(await codeOf(invoke(refreshOperation, { refreshToken }))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(complete(at, login.sessionId, login.code))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('auth.loginInitiate 401 AUTH.INVALID_CREDENTIALS: after a reset during the verification', async () => {
    const id = await at.account('crossing@demo.test')
    await requestLink('crossing@demo.test')
    runAfterVerify(() => invoke(resetPassword, { token: resetToken('crossing@demo.test'), newPassword }))
    expect(await codeOf(initiate(at, 'crossing@demo.test'))).toBe('AUTH.INVALID_CREDENTIALS')
    const logins = at.ports.database.selectFrom('login_sessions').selectAll().where('accountBizId', '=', id)
    expect(await logins.execute()).toEqual([])
  })

  test('password.reset 200: ends a lockout', async () => {
    await at.account('wait@demo.test')
    for (let failure = 0; failure < 11; failure++) await codeOf(initiate(at, 'wait@demo.test', {}, 'wrong'))
    expect(await codeOf(initiate(at, 'wait@demo.test'))).toBe('ACCESS.RATE_LIMITED')
    await requestLink('wait@demo.test')
    await invoke(resetPassword, { token: resetToken('wait@demo.test'), newPassword })
    expect((await initiate(at, 'wait@demo.test', {}, newPassword)).sessionId).toBeTypeOf('string')
  })
})
