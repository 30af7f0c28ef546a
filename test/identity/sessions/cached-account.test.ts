import { afterAll, beforeAll, expect, test } from 'vitest'
import { toInstant } from '../../../src/kernel/index.ts'
import { credential, type Harness, harness, signIn } from '../harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

async function signedInAs(email: string) {
  const accountId = await at.account(email)
  const { accessToken } = await signIn(at, email)
  const { authentication } = at.identity
  const cached = () => authentication.cachedAccount(accessToken, at.clock.now())
  return { accountId, accessToken, cached, use: async () => authentication.accessToken(credential(accessToken)) }
}

test('cachedAccount: the account once its token and session are cached, until the session cache expires', async () => {
  const { accountId, cached, use } = await signedInAs('cached@demo.test')
  expect(cached()).toBeUndefined()
  await use()
  expect(cached()).toBe(accountId)
  at.clock.advance(at.settings.sessions.cacheTtlMs)
  expect(cached()).toBeUndefined()
})

test('cachedAccount: undefined for an unknown or expired token, and after the session has ended', async () => {
  const { accessToken, cached, use } = await signedInAs('ended@demo.test')
  const { sessionId } = await use()
  const { authentication, invalidateSessions } = at.identity
  expect(authentication.cachedAccount(`${accessToken}x`, at.clock.now())).toBeUndefined()
  const expired = toInstant(at.clock.now() + 10 * at.settings.tokens.accessTtlMs)
  expect(authentication.cachedAccount(accessToken, expired)).toBeUndefined()
  invalidateSessions(sessionId ? [sessionId] : [])
  expect(cached()).toBeUndefined()
})

test('cachedAccount: undefined if the request must record its activity or check an IP whitelist', async () => {
  const idle = await signedInAs('idle@demo.test')
  await idle.use()
  at.clock.advance(Math.min(at.settings.sessions.activityIntervalMs, at.settings.sessions.idleMs / 30) + 1)
  expect(idle.cached()).toBeUndefined()
  const listed = await signedInAs('listed@demo.test')
  await at.ports.database
    .updateTable('accounts')
    .set({ ip_whitelist_enabled: true })
    .where('biz_id', '=', listed.accountId)
    .execute()
  await expect(listed.use()).rejects.toMatchObject({ code: 'ACCESS.IP_NOT_ALLOWED' })
  expect(listed.cached()).toBeUndefined()
})

test.each([
  [500, true],
  [1_000, undefined],
])('a session that another replica has ended is cached for %i ms; for an open stream: %s', async (ms, isStreamOpen) => {
  const { accessToken, use } = await signedInAs(`stream-${isStreamOpen}@demo.test`)
  const { sessionId } = await use()
  // Without a message to this replica.
  const ended = { ended_at: new Date(at.clock.now()), end_reason: 'TERMINATED' } as const
  await at.ports.database.updateTable('sessions').set(ended).where('biz_id', '=', sessionId).execute()
  const check = async () => at.identity.authentication.accessToken({ ...credential(accessToken), isStreamOpen })
  at.clock.advance(ms - 1)
  await expect(check()).resolves.toMatchObject({ sessionId })
  at.clock.advance(1)
  await expect(check()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
})
