import { afterAll, beforeAll, expect, test } from 'vitest'
import * as auth from '../../src/identity/login/contract.ts'
import { initiateRegistration } from '../../src/identity/registration/contract.ts'
import { begin, call, codeOf, createRequestContext, credential, type Harness, harness, signIn } from './harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness((settings) => {
    settings.sessions.idleMs = 60_000
    settings.login.sessionTtlMs = 240_000
    settings.portals.CONSUMER.selfRegistration = 'open'
    settings.login.failures.limit = 3
    settings.login.failures.windowMs = 2 * 86_400_000
  })
})
afterAll(() => at.close())

test('with an idle time of 1 minute, a session in use stays open and an unused one expires', async () => {
  await at.account('busy@demo.test')
  const { accessToken } = await signIn(at, 'busy@demo.test')
  const use = async () => at.identity.authentication.accessToken(credential(accessToken))
  for (let times = 0; times < 5; times++) {
    at.clock.advance(55_000)
    await use()
  }
  at.clock.advance(60_000)
  expect(await codeOf(use())).toBe('ACCESS.TOKEN_INVALID')
})

test('the mailed lifetime of a code does not exceed that of its sign-in or registration', async () => {
  await at.account('short@demo.test')
  await begin(at, 'short@demo.test')
  const registering = { email: 'new@demo.test', turnstileToken: '' }
  await call(at.identity, initiateRegistration, createRequestContext(at.clock), registering)
  await at.background.idle()
  const mails = at.outbox.list().filter(({ to }) => ['short@demo.test', 'new@demo.test'].includes(to))
  expect(mails.map(({ text }) => /in (\d+) min/.exec(text)?.[1])).toEqual(['4', '4'])
})

test('auth.loginInitiate 429: failures count for a window of two days, across cleanups', async () => {
  const credentials = { email: 'guessed@demo.test', password: 'a wrong one' }
  const fail = () => codeOf(call(at.identity, auth.initiateLogin, createRequestContext(at.clock), credentials))
  expect([await fail(), await fail()]).toEqual(['AUTH.INVALID_CREDENTIALS', 'AUTH.INVALID_CREDENTIALS'])
  at.clock.advance(2 * 86_400_000 - 1)
  await at.identity.deleteExpired(at.ports.database)
  expect([await fail(), await fail()]).toEqual(['AUTH.INVALID_CREDENTIALS', 'ACCESS.RATE_LIMITED'])
})

test('auth.loginInitiate 429: a cleanup does not end a lockout, even if its first failure is old', async () => {
  const credentials = { email: 'patiently@demo.test', password: 'a wrong one' }
  const fail = () => codeOf(call(at.identity, auth.initiateLogin, createRequestContext(at.clock), credentials))
  for (let times = 0; times < 2; times++) await fail()
  for (let times = 0; times < 3; times++) {
    expect(await fail()).toBe('AUTH.INVALID_CREDENTIALS')
    at.clock.advance(47 * 3_600_000)
  }
  expect(await fail()).toBe('AUTH.INVALID_CREDENTIALS')
  at.clock.advance(1)
  await at.identity.deleteExpired(at.ports.database)
  expect(await fail()).toBe('ACCESS.RATE_LIMITED')
})

test('auth.loginInitiate 401 and 200: with a limit above the range of the integer column', async () => {
  const { failures } = at.settings.login
  const { limit } = failures
  failures.limit = 10_000_000_000
  await at.account('loaded@demo.test')
  const wrong = { email: 'loaded@demo.test', password: 'a wrong one' }
  expect(await codeOf(call(at.identity, auth.initiateLogin, createRequestContext(at.clock), wrong))).toBe(
    'AUTH.INVALID_CREDENTIALS',
  )
  await signIn(at, 'loaded@demo.test')
  failures.limit = limit
})
