import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../../src/database/index.ts'
import { logout } from '../../../src/identity/login/contract.ts'
import { recordActivity } from '../../../src/identity/sessions/activity-store.ts'
import { configureSessions } from '../../../src/identity/sessions/contract.ts'
import { addMs } from '../../../src/kernel/index.ts'
import { call, createRequestContext, credential, type Harness, harness, signIn } from '../harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

async function authenticate(token: string) {
  return at.identity.authentication.accessToken(credential(token))
}
/** The limit is two sessions. */
async function signInTwice(email: string) {
  await at.account(email)
  const { accessToken: older } = await signIn(at, email)
  await call(
    at.identity,
    configureSessions,
    createRequestContext(at.clock),
    { maxConcurrentSessions: 2 },
    await authenticate(older),
  )
  at.clock.advance(30_000)
  const { accessToken: newer } = await signIn(at, email)
  at.clock.advance(30_000)
  return { older, newer }
}

test('auth.loginComplete 200: ended sessions do not count towards the limit', async () => {
  const { older, newer } = await signInTwice('ended@demo.test')
  await call(at.identity, logout, createRequestContext(at.clock), null, await authenticate(newer))
  const { accessToken } = await signIn(at, 'ended@demo.test')
  const callers = await Promise.all([older, accessToken].map(authenticate))
  expect(new Set(callers.map(({ sessionId }) => sessionId)).size).toBe(2)
})

test('auth.loginComplete 200: expired sessions do not count towards the limit', async () => {
  const { older } = await signInTwice('idle@demo.test')
  const { sessionId: id } = await authenticate(older)
  if (!id) throw new Error('no session')
  const { idleMs } = at.settings.sessions
  at.clock.advance(idleMs - 60_000)
  const now = at.clock.now()
  await run(at.ports.database, recordActivity({ portal: 'CONSUMER', id }, now, addMs(now, idleMs)))
  at.clock.advance(60_000)
  await signIn(at, 'idle@demo.test')
  const open = at.ports.database.selectFrom('sessions').select('bizId').where('endedAt', 'is', null)
  expect(await open.where('bizId', '=', id).execute()).toHaveLength(1)
})
