import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as auth from '../../../src/identity/login/contract.ts'
import { type RequestContext, toInstant } from '../../../src/kernel/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import { call, codeOf, createRequestContext, credential, type Harness, harness, signIn } from '../harness.ts'

let at: Harness
let email: string
let count = 0
beforeAll(async () => {
  at = await harness((settings) => {
    settings.portals.CONSUMER.codeSends.limit = 1_000
  })
})
beforeEach(async () => {
  email = `refresh${count++}@demo.test`
  await at.account(email)
})
afterAll(() => at.close())

function refresh(refreshToken: string, more: Partial<RequestContext> = {}) {
  return call(at.identity, auth.refreshToken, createRequestContext(at.clock, more), { refreshToken })
}
async function authenticate(token: string) {
  return at.identity.authentication.accessToken(credential(token))
}

test('auth.refresh 200: returns a new pair; only digests of tokens are stored', async () => {
  const first = await signIn(at, email)
  at.clock.advance(60_000)
  const second = await refresh(first.refreshToken)
  expect(second.refreshToken).not.toBe(first.refreshToken)
  expect((await authenticate(second.accessToken)).sessionId).toBe(first.sessionId)
  const tokens = [first, second].flatMap(({ refreshToken, accessToken }) => [refreshToken, accessToken])
  expect(await storedInPlainText(at.ports.database, ...tokens)).toEqual([])
})

test('auth.refresh 200: returns the same unused successor within 5 minutes, also in parallel', async () => {
  const { refreshToken } = await signIn(at, email)
  const tabs = await Promise.all(Array.from({ length: 8 }, () => refresh(refreshToken)))
  at.clock.advance(300_000)
  tabs.push(await refresh(refreshToken))
  expect(new Set(tabs.map((tab) => tab.refreshToken)).size).toBe(1)
})

test('auth.refresh 200: after a lost response, the session continues with the repeated successor', async () => {
  const first = await signIn(at, email)
  await refresh(first.refreshToken)
  at.clock.advance(120_000)
  const other = await at.replica()
  const again = await call(other, auth.refreshToken, createRequestContext(at.clock), {
    refreshToken: first.refreshToken,
  })
  expect((await refresh(again.refreshToken)).refreshToken).not.toBe(again.refreshToken)
})

test('auth.refresh 404: a token whose successor was used ends the session, without any delay', async () => {
  const first = await signIn(at, email)
  const second = await refresh(first.refreshToken)
  const third = await refresh(second.refreshToken)
  expect(await codeOf(refresh(first.refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
  expect(await codeOf(refresh(third.refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.refresh 404: a token used more than 5 minutes ago ends the session with all its tokens', async () => {
  const first = await signIn(at, email)
  const second = await refresh(first.refreshToken)
  await authenticate(second.accessToken)
  at.clock.advance(300_001)
  expect(await codeOf(refresh(first.refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
  expect(await codeOf(refresh(second.refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
  expect(await codeOf(authenticate(second.accessToken))).toBe('ACCESS.TOKEN_INVALID')
  const entries = await at.ports.database.selectFrom('audit_log').selectAll().where('targetBizId', '=', first.sessionId)
  const rows = await entries.execute()
  expect(rows.map((row) => row.detail)).toContainEqual({ reason: 'REFRESH_REUSED' })
})

test('auth.refresh 404: for a used token after the clock was set back by an hour', async () => {
  at.clock.advance(7_200_000)
  const first = await signIn(at, email)
  await refresh(first.refreshToken)
  at.clock.advance(-3_600_000)
  expect(await codeOf(refresh(first.refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.refresh 404: for malformed tokens, other clients and portals; the session stays open', async () => {
  const { refreshToken } = await signIn(at, email)
  for (const text of ['x', 'A'.repeat(43), "'; DROP TABLE sessions --", refreshToken.toLowerCase()])
    expect(await codeOf(refresh(text))).toBe('AUTH.SESSION_NOT_FOUND')
  expect(await codeOf(refresh(refreshToken, { clientHash: 'thief' }))).toBe('AUTH.SESSION_NOT_FOUND')
  expect(await codeOf(refresh(refreshToken, { portal: 'SYSTEM' }))).toBe('AUTH.SESSION_NOT_FOUND')
  expect((await refresh(refreshToken)).expiresIn).toBe(900)
})

test('auth.refresh 404: for a suspended account', async () => {
  const { refreshToken, accessToken } = await signIn(at, email)
  const { database } = at.ports
  await database.updateTable('accounts').set({ accountStatus: 'SUSPENDED' }).where('email', '=', email).execute()
  expect(await codeOf(refresh(refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
  at.clock.advance(1_000)
  expect(await codeOf(authenticate(accessToken))).toBe('ACCESS.TOKEN_INVALID')
})

test.each([0, 1, 500, 999])(
  'an access token issued %i ms after a full second is valid for all of `expiresIn`',
  async (offset) => {
    at.clock.set(toInstant(Math.ceil(at.clock.now() / 1_000) * 1_000 + offset))
    let pair: { refreshToken: string; accessToken: string; expiresIn: number } = await signIn(at, email)
    const expectValidUntilExpiry = async () => {
      at.clock.advance(pair.expiresIn * 1_000 - 1)
      expect((await authenticate(pair.accessToken)).portal).toBe('CONSUMER')
    }
    expect(pair.expiresIn).toBe(900)
    await expectValidUntilExpiry()
    for (let minutes = 15; minutes < 700; minutes += 25) {
      pair = await refresh(pair.refreshToken)
      at.clock.advance(25 * 60_000)
    }
    at.clock.advance(4 * 60_000)
    pair = await refresh(pair.refreshToken)
    expect(pair.expiresIn).toBeLessThan(900)
    await expectValidUntilExpiry()
  },
)

test('auth.refresh 404: after the absolute end of the session, which limits access tokens, too', async () => {
  let pair: { refreshToken: string; accessToken: string; expiresIn: number } = await signIn(at, email)
  for (let minutes = 25; minutes < 720; minutes += 25) {
    at.clock.advance(25 * 60_000)
    pair = await refresh(pair.refreshToken)
  }
  expect(pair.expiresIn).toBeLessThanOrEqual(1_200)
  at.clock.advance(20 * 60_000)
  expect(await codeOf(refresh(pair.refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.refresh 404: for a session that was idle for 30 minutes', async () => {
  const { refreshToken } = await signIn(at, email)
  at.clock.advance(30 * 60_000)
  expect(await codeOf(refresh(refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.logout 200: invalidates access token and refresh token immediately', async () => {
  const { accessToken, refreshToken } = await signIn(at, email)
  const caller = await authenticate(accessToken)
  const request = createRequestContext(at.clock)
  expect(await call(at.identity, auth.logout, request, null, caller)).toEqual({ success: true, terminatedSessions: 1 })
  expect(await codeOf(authenticate(accessToken))).toBe('ACCESS.TOKEN_INVALID')
  expect(await codeOf(refresh(refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
  expect(await call(at.identity, auth.logout, request, null, caller)).toMatchObject({ terminatedSessions: 0 })
})

test('auth.logout 200: other replicas reject the session within 1 second', async () => {
  const { accessToken } = await signIn(at, email)
  const other = await at.replica()
  await other.authentication.accessToken(credential(accessToken))
  await call(at.identity, auth.logout, createRequestContext(at.clock), null, await authenticate(accessToken))
  at.clock.advance(1_000)
  const read = async () => other.authentication.accessToken(credential(accessToken))
  expect(await codeOf(read())).toBe('ACCESS.TOKEN_INVALID')
})

test('auth.refresh 404: after the clock was set back by more than the idle time', async () => {
  at.clock.advance(3_600_000)
  const { refreshToken, sessionId } = await signIn(at, email)
  at.clock.advance(-1_800_001)
  expect(await codeOf(refresh(refreshToken))).toBe('AUTH.SESSION_NOT_FOUND')
  at.clock.advance(1)
  const { accessToken } = await refresh(refreshToken)
  expect((await authenticate(accessToken)).sessionId).toBe(sessionId)
})
