import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { run } from '../../../src/database/index.ts'
import { recordActivity } from '../../../src/identity/sessions/activity-store.ts'
import { listSessions } from '../../../src/identity/sessions/contract.ts'
import { type AccountId, addMs, type Caller, type Instant, type SessionId, toIso } from '../../../src/kernel/index.ts'
import { call, createRequestContext, credential, type Harness, harness, signedIn, signIn } from '../harness.ts'

let at: Harness
let accountId: AccountId
let id: SessionId
let caller: Caller
let serial = 0
beforeAll(async () => {
  at = await harness()
})
beforeEach(async () => {
  const email = `active${++serial}@demo.test`
  accountId = await at.account(email)
  caller = await signedIn(at, email)
  if (!caller.sessionId) throw new Error('no session')
  id = caller.sessionId
})
afterAll(() => at.close())

function times() {
  return at.ports.database
    .selectFrom('sessions')
    .select(['lastActivityAt', 'idleExpiresAt'])
    .where('accountBizId', '=', accountId)
    .executeTakeFirstOrThrow()
}
function record(used: Instant) {
  return run(
    at.ports.database,
    recordActivity({ portal: 'CONSUMER', id }, used, addMs(used, at.settings.sessions.idleMs)),
  )
}

test('activity extends a session', async () => {
  const later = addMs(at.clock.now(), 60_000)
  await record(later)
  const idleExpiresAt = addMs(later, at.settings.sessions.idleMs)
  expect(await times()).toEqual({ lastActivityAt: later, idleExpiresAt })
})

test('sessions.list 200: returns the start and the last activity of a session', async () => {
  const later = addMs(at.clock.now(), 60_000)
  await record(later)
  const [listed] = await call(at.identity, listSessions, createRequestContext(at.clock), undefined, caller)
  expect(listed).toMatchObject({ loginTime: toIso(at.clock.now()), lastActivityTime: toIso(later), userAgent: 'test' })
})

test('earlier activity, from a slow replica or a slow clock, does not shorten a session', async () => {
  await record(addMs(at.clock.now(), 120_000))
  const before = await times()
  await record(addMs(at.clock.now(), 60_000))
  expect(await times()).toEqual(before)
})

test('activity does not revive an expired session', async () => {
  const before = await times()
  await record(before.idleExpiresAt)
  expect(await times()).toEqual(before)
})

test('a check of an open stream does not extend a session, and a request does', async () => {
  const email = `active${++serial}@demo.test`
  accountId = await at.account(email)
  const { accessToken } = await signIn(at, email)
  const before = await times()
  at.clock.advance(120_000)
  await at.identity.authentication.accessToken({ ...credential(accessToken), isStreamOpen: true })
  expect(await times()).toEqual(before)
  await at.identity.authentication.accessToken(credential(accessToken))
  expect((await times()).lastActivityAt).toBe(at.clock.now())
})
