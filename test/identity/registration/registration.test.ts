import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { initPassword, resetPassword } from '../../../src/identity/passwords/contract.ts'
import {
  completeRegistration,
  initiateRegistration,
  verifyRegistrationEmail,
} from '../../../src/identity/registration/contract.ts'
import { call, codeOf, createRequestContext, type Harness, initiate, refusalOf } from '../harness.ts'
import {
  beginRegistration,
  callAnonymously,
  newPassword,
  recoveryHarness,
  requestResetLink,
  resetTokenOf,
} from '../recovery.ts'

let at: Harness
let opened: unknown[]
beforeAll(async () => {
  opened = []
  at = await recoveryHarness((ports) => {
    ports.openWorkspace = async (_tx, opening) => void opened.push(opening)
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

describe('registration', () => {
  test('registration.verifyEmail 404: after ten minutes', async () => {
    const { sessionId, code } = await begin('slow@demo.test')
    at.clock.advance(600_000)
    expect(await codeOf(invoke(verifyRegistrationEmail, { sessionId, code }))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('registration.verifyEmail 401 AUTH.CODE_INVALID: recorded in the audit log', async () => {
    const { sessionId, code } = await begin('guess@demo.test')
    await codeOf(invoke(verifyRegistrationEmail, { sessionId, code: code === '000000' ? '111111' : '000000' }))
    const rows = at.ports.database.selectFrom('audit_log').selectAll().where('action', '=', verifyRegistrationEmail.id)
    expect(await rows.execute()).toMatchObject([
      { actorBizId: null, outcome: 'REFUSED', detail: { reason: 'CODE_INVALID' } },
    ])
  })

  test('registration.complete 200: returns a token that sets a password for an hour', async () => {
    const { sessionId, code } = await begin('new@demo.test')
    await invoke(verifyRegistrationEmail, { sessionId, code })
    const { passwordInitToken: token } = await invoke(completeRegistration, { sessionId, accountName: 'New' })
    expect(opened).toEqual([
      expect.objectContaining({ name: 'New', kind: 'LIVE', joinSource: 'REGISTRATION', at: at.clock.now() }),
    ])
    expect(await codeOf(initiate(at, 'new@demo.test', {}, 'anything at all'))).toBe('AUTH.INVALID_CREDENTIALS')
    at.clock.advance(3_600_000)
    expect(await codeOf(invoke(initPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    await requestLink('new@demo.test')
    await invoke(resetPassword, { token: resetToken('new@demo.test'), newPassword })
    expect((await initiate(at, 'new@demo.test', {}, newPassword)).sessionId).toBeTypeOf('string')
  })

  test('password.reset 404 with a token of a registration; password.init 404 with a reset link', async () => {
    await at.account('mixed@demo.test')
    await requestLink('mixed@demo.test')
    const token = resetToken('mixed@demo.test')
    expect(await codeOf(invoke(initPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    const { sessionId, code } = await begin('unmixed@demo.test')
    await invoke(verifyRegistrationEmail, { sessionId, code })
    const { passwordInitToken } = await invoke(completeRegistration, { sessionId, accountName: 'New' })
    const wrong = { token: passwordInitToken, newPassword }
    expect(await codeOf(invoke(resetPassword, wrong))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('registration.complete: creates no account if the workspace fails to open; can be retried', async () => {
    const { sessionId, code } = await begin('torn@demo.test')
    await invoke(verifyRegistrationEmail, { sessionId, code })
    const open = at.ports.openWorkspace
    at.ports.openWorkspace = async () => {
      throw new Error('workspace failed')
    }
    const torn = await at.replica()
    at.ports.openWorkspace = open
    const body = { sessionId, accountName: 'Torn' }
    await expect(call(torn, completeRegistration, createRequestContext(at.clock), body)).rejects.toThrow(
      'workspace failed',
    )
    expect((await invoke(completeRegistration, body)).pendingApproval).toBe(false)
  })

  test('registration.initiate 429: after ten mails to an address in a day', async () => {
    const email = 'daily@demo.test'
    const start = () => invoke(initiateRegistration, { email, turnstileToken: '' })
    for (let mail = 0; mail < 10; mail++) {
      await start()
      at.clock.advance(600_000)
    }
    const { code, detail } = await refusalOf(start())
    expect([code, detail.limit?.name]).toEqual(['ACCESS.RATE_LIMITED', 'registration-daily-mails'])
    await invoke(initiateRegistration, { email: 'another@demo.test', turnstileToken: '' })
    at.clock.advance(86_400_000)
    await start()
    await at.background.idle()
  })

  test('registration.initiate 429: after three mails in ten minutes, with or without an account', async () => {
    await at.account('have@demo.test')
    for (const email of ['have@demo.test', 'havenot@demo.test']) {
      for (let mail = 0; mail < 3; mail++) await invoke(initiateRegistration, { email, turnstileToken: '' })
      expect(await codeOf(invoke(initiateRegistration, { email: email.toUpperCase(), turnstileToken: '' }))).toBe(
        'ACCESS.RATE_LIMITED',
      )
    }
    await at.background.idle()
  })
})
