import { generateSync } from 'otplib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  generateBackupCodes,
  revokeOtp,
  sendStepUpCode,
  setupOtp,
  stepUp,
  verifyOtp,
} from '../../../src/identity/mfa/contract.ts'
import { verifyRegistrationEmail } from '../../../src/identity/registration/contract.ts'
import type { Caller } from '../../../src/kernel/index.ts'
import { begin, call, complete, createRequestContext, type Harness, mailedCode, signedIn } from '../harness.ts'
import { beginRegistration, callAnonymously, recoveryHarness } from '../recovery.ts'

let at: Harness
let caller: Caller
let email: string
let count = 0
beforeAll(async () => {
  at = await recoveryHarness(() => undefined)
})
afterAll(() => at.close())

async function newCaller(): Promise<void> {
  email = `typist${count++}@demo.test`
  await at.account(email)
  caller = await signedIn(at, email)
}
function invoke<O extends Parameters<typeof call>[1]>(operation: O, body: unknown = null) {
  return call(at.identity, operation, createRequestContext(at.clock), body, caller)
}
function fullWidth(text: string): string {
  return text.replaceAll(/[!-~]/g, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0))
}

/** As people paste and type a code of an even length. */
const forms: [name: string, (code: string) => string][] = [
  ['a blank', (code) => `${code.slice(0, 3)} ${code.slice(3)}`],
  ['a no-break space', (code) => `${code.slice(0, 3)}\u00a0${code.slice(3)}`],
  ['a hyphen', (code) => `${code.slice(0, 3)}-${code.slice(3)}`],
  ['an en dash', (code) => `${code.slice(0, 3)}–${code.slice(3)}`],
  ['an ideographic space and full width', (code) => `\u3000${fullWidth(code)}`],
  ['a zero-width space and a line break', (code) => `\u200b${code}\n`],
  ['a blank after each character', (code) => [...code].join(' ')],
]

test.each(forms)('login.complete 200: a mailed code with %s', async (_, typed) => {
  email = `typist${count++}@demo.test`
  await at.account(email)
  const { sessionId, code } = await begin(at, email)
  expect(await complete(at, sessionId, typed(code))).toHaveProperty('accessToken')
})

test.each(forms)('registration.verifyEmail 200: a mailed code with %s', async (_, typed) => {
  const { sessionId, code } = await beginRegistration(at, `typist${count++}@demo.test`)
  const verified = await callAnonymously(at, verifyRegistrationEmail, { sessionId, code: typed(code) })
  expect(verified.emailVerified).toBe(true)
})

test.each(forms)('mfa.stepUp and mfa.otp* 200: mailed, authenticator and backup codes with %s', async (_, typed) => {
  await newCaller()
  await invoke(sendStepUpCode, { mfaMethod: 'EMAIL' })
  await invoke(stepUp, { mfaMethod: 'EMAIL', code: typed(mailedCode(at, email)) })
  const { secret } = await invoke(setupOtp)
  const codeAt = (seconds: number) => generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) + seconds })
  await invoke(verifyOtp, { code: typed(codeAt(-30)) })
  await invoke(stepUp, { mfaMethod: 'OTP', code: typed(codeAt(0)) })
  const [first = '', second = ''] = (await invoke(generateBackupCodes)).codes
  await invoke(stepUp, { mfaMethod: 'BACKUP_CODE', code: typed(first) })
  await invoke(stepUp, { mfaMethod: 'BACKUP_CODE', code: typed(second.toLowerCase().replace('-', '')) })
  const entry = await invoke(revokeOtp, { code: typed(codeAt(30)) })
  expect(entry).toMatchObject({ mfaMethod: { code: 'OTP' }, isEnabled: false })
})
