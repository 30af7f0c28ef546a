import { afterAll, beforeAll, expect, test } from 'vitest'
import { logout } from '../../src/identity/login/contract.ts'
import { configureSessions } from '../../src/identity/sessions/contract.ts'
import { recordActivity } from '../../src/identity/sessions/store.ts'
import { addMs } from '../../src/kernel/index.ts'
import { call, credential, facts, type Harness, harness, signIn } from './harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

const lives = async (token: string) => at.identity.authentication.accessToken(credential(token))
/** An account that may have two sessions, with both of them, the older first. */
const withTwo = async (email: string) => {
  await at.account(email)
  const { accessToken: older } = await signIn(at, email)
  await call(at.identity, configureSessions, facts(at.clock), { maxConcurrentSessions: 2 }, await lives(older))
  at.clock.advance(30_000)
  const { accessToken: newer } = await signIn(at, email)
  at.clock.advance(30_000)
  return { older, newer }
}

test('auth.loginComplete 200 ends no older session in the place of one that has ended', async () => {
  const { older, newer } = await withTwo('ended@demo.test')
  await call(at.identity, logout, facts(at.clock), null, await lives(newer))
  const { accessToken } = await signIn(at, 'ended@demo.test')
  const alive = await Promise.all([older, accessToken].map(lives))
  expect(new Set(alive.map(({ sessionId }) => sessionId)).size).toBe(2)
})

test('auth.loginComplete 200 ends no older session in the place of one that has run out', async () => {
  const { older } = await withTwo('idle@demo.test')
  const { sessionId: id } = await lives(older)
  if (!id) throw new Error('no session')
  const { idleMs } = at.settings.sessions
  at.clock.advance(idleMs - 60_000)
  const now = at.clock.now()
  await recordActivity(at.ports.database, { portal: 'CONSUMER', id }, now, addMs(now, idleMs))
  at.clock.advance(60_000)
  await signIn(at, 'idle@demo.test')
  const open = at.ports.database.selectFrom('sessions').select('biz_id').where('ended_at', 'is', null)
  expect(await open.where('biz_id', '=', id).execute()).toHaveLength(1)
})
