import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { listSessions } from '../../src/identity/sessions/contract.ts'
import { recordActivity } from '../../src/identity/sessions/store.ts'
import { type AccountId, addMs, type Caller, type Instant, type SessionId, toIso } from '../../src/kernel/index.ts'
import { call, facts, type Harness, harness, signedIn } from './harness.ts'

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

const times = () =>
  at.ports.database
    .selectFrom('sessions')
    .select(['last_activity_at', 'idle_expires_at'])
    .where('account_biz_id', '=', accountId)
    .executeTakeFirstOrThrow()
const note = (used: Instant) =>
  recordActivity(at.ports.database, { portal: 'CONSUMER', id }, used, addMs(used, at.settings.sessions.idleMs))

test('activity prolongs a session', async () => {
  const later = addMs(at.clock.now(), 60_000)
  await note(later)
  const idle_expires_at = addMs(later, at.settings.sessions.idleMs)
  expect(await times()).toEqual({ last_activity_at: later, idle_expires_at })
})

test('sessions.list 200: when a session began, and when it was last used', async () => {
  const later = addMs(at.clock.now(), 60_000)
  await note(later)
  const [told] = await call(at.identity, listSessions, facts(at.clock), undefined, caller)
  expect(told).toMatchObject({ loginTime: toIso(at.clock.now()), lastActivityTime: toIso(later), userAgent: 'test' })
})

test('activity that a slower replica tells of late, or whose clock is behind, shortens no session', async () => {
  await note(addMs(at.clock.now(), 120_000))
  const before = await times()
  await note(addMs(at.clock.now(), 60_000))
  expect(await times()).toEqual(before)
})

test('activity brings back no session that was idle for too long', async () => {
  const before = await times()
  await note(before.idle_expires_at)
  expect(await times()).toEqual(before)
})
