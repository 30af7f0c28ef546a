import { afterAll, beforeAll, expect, test } from 'vitest'
import * as auth from '../../src/identity/login/contract.ts'
import { readPublicKey } from '../../src/identity/secure-channel/contract.ts'
import { call, createRequestContext, type Harness, harness, signIn } from './harness.ts'

/** Values are bound to their row, so a writer cannot use them in another row. */
let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

function refresh(refreshToken: string) {
  return call(at.identity, auth.refreshToken, createRequestContext(at.clock), { refreshToken })
}

test('auth.refresh: fails if the successor of another token was copied into the row', async () => {
  const rows = () => at.ports.database.selectFrom('refresh_tokens').select(['tokenDigest', 'successor'])
  const digestOf = (token: string) => at.ports.digest('refresh-token', token)
  await at.account('robbed@demo.test')
  await at.account('robber@demo.test')
  const [robbed, robber] = [await signIn(at, 'robbed@demo.test'), await signIn(at, 'robber@demo.test')]
  await refresh(robbed.refreshToken)
  await refresh(robber.refreshToken)
  const { successor } = await rows().where('tokenDigest', '=', digestOf(robbed.refreshToken)).executeTakeFirstOrThrow()
  await at.ports.database
    .updateTable('refresh_tokens')
    .set({ successor })
    .where('tokenDigest', '=', digestOf(robber.refreshToken))
    .execute()
  await expect(refresh(robber.refreshToken)).rejects.toThrow('a sealed refresh-successor does not open')
})

test('the private key of a channel key is encrypted for its key id', async () => {
  const { keyId } = await call(at.identity, readPublicKey, createRequestContext(at.clock))
  const { privateKey } = await at.ports.database
    .selectFrom('channel_keys')
    .select('privateKey')
    .where('keyId', '=', keyId)
    .executeTakeFirstOrThrow()
  expect(at.ports.secretBox.open('channel-key', keyId, privateKey).length).toBeGreaterThan(1_000)
})
