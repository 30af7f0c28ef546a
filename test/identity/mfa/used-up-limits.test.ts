import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendStepUpCode, stepUp } from '../../../src/identity/mfa/contract.ts'
import { resetPassword } from '../../../src/identity/passwords/contract.ts'
import type { AccountId, Caller } from '../../../src/kernel/index.ts'
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
  refusalOf,
  send as sendLoginCode,
  signedIn,
} from '../harness.ts'
import { callAnonymously, newPassword, requestResetLink, resetTokenOf } from '../recovery.ts'

let at: Harness
beforeAll(async () => {
  at = await harness((settings) => {
    settings.login.resendMs = 0
  })
})
afterAll(() => at.close())

let count = 0
async function robbed(): Promise<{ email: string; id: AccountId; thieves: Caller[] }> {
  const email = `robbed${count++}@demo.test`
  const id = await at.account(email)
  const thieves = [await signedIn(at, email), await signedIn(at, email)]
  // The quota of the sign-ins above has expired.
  at.clock.advance(600_000)
  return { email, id, thieves }
}
function send(caller: Caller) {
  return call(at.identity, sendStepUpCode, createRequestContext(at.clock), { mfaMethod: 'EMAIL' }, caller)
}
function verify(caller: Caller, code: string) {
  return call(at.identity, stepUp, createRequestContext(at.clock), { mfaMethod: 'EMAIL', code }, caller)
}
async function guess(caller: Caller, tries: number) {
  const results: string[] = []
  for (let turn = 0; turn < tries; turn++) results.push(await codeOf(verify(caller, '000000')))
  return results
}
async function useUp(thieves: Caller[]) {
  for (const thief of thieves) {
    await guess(thief, 5)
    for (let turn = 0; turn < 3; turn++) await send(thief).catch(() => undefined)
  }
}
async function stepUpByMail(caller: Caller, email: string) {
  await send(caller)
  expect(await verify(caller, mailedCode(at, email))).toMatchObject({ success: true })
}

test('mfa.stepUp 429: a session gets half of the tries; the others still step up', async () => {
  const { email, thieves } = await robbed()
  const [thief, owner] = thieves as [Caller, Caller]
  const refused = (results: string[]) => results.filter((code) => code === 'ACCESS.RATE_LIMITED').length
  expect(refused(await guess(thief, 17))).toBe(12)
  expect((await refusalOf(verify(thief, '000000'))).detail.limit?.limit).toBe(5)
  await stepUpByMail(owner, email)
})

test('mfa.stepUp 429: ten wrong codes of two sessions lock out the account', async () => {
  const { email, thieves } = await robbed()
  const owner = await signedIn(at, email)
  for (const thief of thieves) await guess(thief, 5)
  expect((await refusalOf(verify(owner, '000000'))).detail.limit?.limit).toBe(10)
})

test('password.reset 200: then the owner steps up after a thief has used up all tries', async () => {
  const { email, thieves } = await robbed()
  await useUp(thieves)
  await requestResetLink(at, email)
  await callAnonymously(at, resetPassword, { token: resetTokenOf(at, email), newPassword })
  const { sessionId } = await initiate(at, email, {}, newPassword)
  await sendLoginCode(at, sessionId)
  const { accessToken } = await complete(at, sessionId, mailedCode(at, email))
  await stepUpByMail(await at.identity.authentication.accessToken(credential(accessToken)), email)
})

test('operators.terminateAccountSessions: operators end the sessions of an account: then the owner steps up', async () => {
  const { email, id, thieves } = await robbed()
  await useUp(thieves)
  const account = { portal: 'CONSUMER', id } as const
  await at.ports.database.transaction().execute((tx) => at.identity.forgetFailures(tx, account))
  await stepUpByMail(await signedIn(at, email), email)
})
