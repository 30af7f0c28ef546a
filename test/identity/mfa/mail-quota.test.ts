import { expect, test } from 'vitest'
import { sendStepUpCode } from '../../../src/identity/mfa/contract.ts'
import type { Caller } from '../../../src/kernel/index.ts'
import { call, codeOf, createRequestContext, harness, refusalOf, signedIn, signIn } from '../harness.ts'

test('mfa.stepUpSend 429: one stolen session leaves mailed codes for its owner to sign in and step up', async () => {
  const at = await harness((settings) => {
    settings.login.resendMs = 0
  })
  const email = 'robbed@demo.test'
  await at.account(email)
  const stolen = await signedIn(at, email)
  const own = await signedIn(at, email)
  // The quota of the sign-ins above has expired.
  at.clock.advance(600_000)
  const send = (caller: Caller) =>
    call(at.identity, sendStepUpCode, createRequestContext(at.clock), { mfaMethod: 'EMAIL' }, caller)
  for (let turn = 0; turn < 3; turn++) await send(stolen)
  for (let turn = 0; turn < 5; turn++) {
    const { code, detail } = await refusalOf(send(stolen))
    expect([code, detail.limit?.name, detail.limit?.limit]).toEqual(['ACCESS.RATE_LIMITED', 'code-mails-session', 3])
  }
  await send(own)
  await signIn(at, email)
  // The quota of the account still applies.
  expect(await codeOf(send(own))).toBe('ACCESS.RATE_LIMITED')
  await at.close()
})

test('auth.mfaSend 200: an unknown device can sign in while a stolen session mails codes', async () => {
  const at = await harness((settings) => {
    settings.login.resendMs = 0
  })
  const email = 'abroad@demo.test'
  await at.account(email)
  const stolen = await signedIn(at, email)
  at.clock.advance(600_000)
  const send = () => call(at.identity, sendStepUpCode, createRequestContext(at.clock), { mfaMethod: 'EMAIL' }, stolen)
  for (let turn = 0; turn < 3; turn++) await send()
  expect(await codeOf(send())).toBe('ACCESS.RATE_LIMITED')
  const abroad = { clientHash: 'another-client', clientIp: '198.51.100.7' }
  expect((await signIn(at, email, abroad)).accessToken).not.toBe('')
  await at.close()
})
