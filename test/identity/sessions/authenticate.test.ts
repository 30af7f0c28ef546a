import { afterAll, beforeAll, expect, test } from 'vitest'
import { credential, type Harness, harness, signIn } from '../harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

test.each([
  [250, true],
  [1_000, undefined],
])('a session that another replica has ended is cached for %i ms; for an open stream: %s', async (ms, isStreamOpen) => {
  const email = `stream-${isStreamOpen}@demo.test`
  await at.account(email)
  const { accessToken } = await signIn(at, email)
  const { sessionId } = await at.identity.authentication.accessToken(credential(accessToken))
  // Without a message to this replica.
  const ended = { endedAt: new Date(at.clock.now()), endReason: 'TERMINATED' } as const
  await at.ports.database.updateTable('sessions').set(ended).where('bizId', '=', sessionId).execute()
  const check = async () => at.identity.authentication.accessToken({ ...credential(accessToken), isStreamOpen })
  at.clock.advance(ms - 1)
  await expect(check()).resolves.toMatchObject({ sessionId })
  at.clock.advance(1)
  await expect(check()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
})
