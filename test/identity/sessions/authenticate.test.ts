import { afterAll, beforeAll, expect, test } from 'vitest'
import { dpopOf, signingPair } from '../../harness/proofs.ts'
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

test('a session with a key: its proof is verified once per request, and not for the repeated checks of a stream', async () => {
  const email = 'key@demo.test'
  await at.account(email)
  const pair = await signingPair()
  const [base, method] = ['https://portal.example', 'GET']
  const facts = (path: string) => ({ method, path, baseUrls: [base], receivedAt: at.clock.now(), isRepeated: false })
  const prove = (path: string, token?: string) =>
    dpopOf(pair, { method, url: base + path, token }, { at: at.clock.now() })
  const keyProof = await at.identity.authentication.keyProof(await prove('/login'), facts('/login'))
  const { accessToken } = await signIn(at, email, { keyProof })
  const connection = { certificateThumbprint: () => null }
  const dpopProof = await prove('/stream', accessToken)
  const check = async (isRepeated: boolean) =>
    at.identity.authentication.accessToken({
      ...credential(accessToken),
      dpopProof,
      facts: { ...facts('/stream'), ...connection, isRepeated },
    })
  const { sessionId } = await check(false)
  at.clock.advance(120_000)
  for (let times = 0; times < 3; times++) await expect(check(true)).resolves.toMatchObject({ sessionId })
  await expect(check(false)).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
  const withoutFacts = async () => at.identity.authentication.accessToken({ ...credential(accessToken), dpopProof })
  await expect(withoutFacts()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
})
