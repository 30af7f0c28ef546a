import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startBrowserSession } from '../../../src/identity/browser-sessions/contract.ts'
import * as mfa from '../../../src/identity/mfa/contract.ts'
import { stepUp } from '../../../src/identity/mfa/contract.ts'
import { type Caller, type RequestContext, sessionCookieOf } from '../../../src/kernel/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import {
  begin,
  call,
  codeOf,
  createRequestContext,
  credential,
  type Harness,
  harness,
  invoke,
  mailedCode,
} from '../harness.ts'

/** Longer than replaced values are accepted. */
const afterGraceMs = 10_001

let at: Harness
let email: string
let count = 0
beforeAll(async () => {
  at = await harness((settings) => {
    settings.portals.CONSUMER.codeSends.limit = 1_000
  })
})
beforeEach(async () => {
  email = `cookie${count++}@demo.test`
  await at.account(email)
})
afterAll(() => at.close())

async function start(more: Partial<RequestContext> = {}): Promise<string> {
  const { sessionId, code } = await begin(at, email, more)
  const body = { sessionId, mfaMethod: 'EMAIL', code }
  return cookieIn(await invoke(at.identity, startBrowserSession, createRequestContext(at.clock, more), body))
}

function cookieIn(reply: unknown): string {
  const value = sessionCookieOf(reply)
  if (!value) throw new Error('the reply sets no cookie')
  return value
}

async function authenticate(value: string, more: Parameters<typeof credential>[1] = {}, identity = at.identity) {
  const { portal: _, ...rest } = credential(value, more)
  return identity.authentication.sessionCookie({
    ...rest,
    portal: more.portal ?? 'CONSUMER',
    operationId: 'sessions.self',
    requestId: 'one',
  })
}

async function stepUpAs(caller: Caller): Promise<unknown> {
  at.clock.advance(60_000)
  await call(at.identity, mfa.sendStepUpCode, createRequestContext(at.clock), { mfaMethod: 'EMAIL' }, caller)
  const body = { mfaMethod: 'EMAIL', code: mailedCode(at, email) }
  return invoke(at.identity, stepUp, createRequestContext(at.clock), body, caller)
}

test('browserSessions.start 200: only a digest of the cookie is stored', async () => {
  const value = await start()
  expect(await storedInPlainText(at.ports.database, value)).toEqual([])
  expect((await authenticate(value)).cookieDigest).toBeDefined()
})

test('mfa.stepUp 200: a replaced value is good for 10 s, and afterwards ends the session', async () => {
  const first = await start()
  const second = cookieIn(await stepUpAs(await authenticate(first)))
  at.clock.advance(10_000)
  const { sessionId } = await authenticate(first)
  expect((await authenticate(second)).sessionId).toBe(sessionId)
  at.clock.advance(1)
  expect(await codeOf(authenticate(first))).toBe('ACCESS.TOKEN_INVALID')
  expect(await codeOf(authenticate(second))).toBe('ACCESS.TOKEN_INVALID')
  const entries = await at.ports.database
    .selectFrom('audit_log')
    .select(['detail', 'action'])
    .where('targetBizId', '=', sessionId)
    .execute()
  expect(entries).toContainEqual({ detail: { reason: 'COOKIE_REUSED' }, action: 'sessions.self' })
})

test('mfa.stepUp 200: a value that was replaced twice also ends the session', async () => {
  const first = await start()
  const second = cookieIn(await stepUpAs(await authenticate(first)))
  const third = cookieIn(await stepUpAs(await authenticate(second)))
  expect(await codeOf(authenticate(first))).toBe('ACCESS.TOKEN_INVALID')
  expect(await codeOf(authenticate(third))).toBe('ACCESS.TOKEN_INVALID')
})

test('mfa.stepUp 200: of parallel requests with one value, one replaces it', async () => {
  const first = await start()
  const caller = await authenticate(first)
  const second = cookieIn(await stepUpAs(caller))
  expect(sessionCookieOf(await stepUpAs(caller))).toBeUndefined()
  expect((await authenticate(second)).sessionId).toBe(caller.sessionId)
})

test('sessions.self 401: a thief with a replaced value ends the session on every replica', async () => {
  const other = await at.replica()
  const first = await start()
  await authenticate(first, {}, other)
  const second = cookieIn(await stepUpAs(await authenticate(first)))
  await authenticate(second, {}, other)
  at.clock.advance(afterGraceMs)
  expect(await codeOf(authenticate(first, { clientHash: 'thief' }, other))).toBe('ACCESS.TOKEN_INVALID')
  expect(await codeOf(authenticate(second))).toBe('ACCESS.TOKEN_INVALID')
})

test('sessions.self 401: another client hash is refused with either value, and the session stays open', async () => {
  const first = await start()
  expect(await codeOf(authenticate(first, { clientHash: 'thief' }))).toBe('ACCESS.TOKEN_INVALID')
  const second = cookieIn(await stepUpAs(await authenticate(first)))
  for (const value of [first, second])
    expect(await codeOf(authenticate(value, { clientHash: 'thief' }))).toBe('ACCESS.TOKEN_INVALID')
  expect((await authenticate(second)).portal).toBe('CONSUMER')
})

test('sessions.self 401: for unknown values and other portals', async () => {
  const value = await start()
  expect(await codeOf(authenticate('A'.repeat(43)))).toBe('ACCESS.TOKEN_INVALID')
  expect(await codeOf(authenticate(value, { portal: 'SYSTEM' }))).toBe('ACCESS.TOKEN_INVALID')
})

test('sessions.self 200: a stream that is open while the value changes stays open', async () => {
  const first = await start()
  const caller = await authenticate(first)
  await stepUpAs(caller)
  at.clock.advance(afterGraceMs)
  const again = await authenticate(first, { receivedAt: at.clock.now() })
  expect(again.sessionId).toBe(caller.sessionId)
})
