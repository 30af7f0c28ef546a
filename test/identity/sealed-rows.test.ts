import { createPublicKey, randomBytes } from 'node:crypto'
import { CompactEncrypt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as auth from '../../src/identity/login/contract.ts'
import { openSecureChannel, readPublicKey } from '../../src/identity/secure-channel/contract.ts'
import { call, facts, type Harness, harness, signIn } from './harness.ts'

/** Whoever can write to a store, and has no key to it, gains nothing by moving what is sealed from one row to another. */
let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

const refresh = (refreshToken: string) => call(at.identity, auth.refreshToken, facts(at.clock), { refreshToken })

test('auth.refresh with a used token yields no successor of another one, whose sealed bytes were put in its row', async () => {
  const rows = () => at.ports.database.selectFrom('refresh_tokens').select(['token_digest', 'successor'])
  const digestOf = (token: string) => at.ports.digest('refresh-token', token)
  await at.account('robbed@demo.test')
  await at.account('robber@demo.test')
  const [robbed, robber] = [await signIn(at, 'robbed@demo.test'), await signIn(at, 'robber@demo.test')]
  await refresh(robbed.refreshToken)
  await refresh(robber.refreshToken)
  const { successor } = await rows().where('token_digest', '=', digestOf(robbed.refreshToken)).executeTakeFirstOrThrow()
  await at.ports.database
    .updateTable('refresh_tokens')
    .set({ successor })
    .where('token_digest', '=', digestOf(robber.refreshToken))
    .execute()
  await expect(refresh(robber.refreshToken)).rejects.toThrow('a sealed refresh-successor does not open')
})

const openChannel = async () => {
  const [key, offered] = [randomBytes(32), await call(at.identity, readPublicKey, facts(at.clock))]
  const rsa = createPublicKey({ key: Buffer.from(offered.publicKey, 'base64'), format: 'der', type: 'spki' })
  const iat = Math.floor(at.clock.now() / 1_000)
  const text = JSON.stringify({ key: key.toString('base64url'), clientHash: 'client-one', iat })
  const payload = await new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: offered.keyId })
    .encrypt(rsa)
  const { sessionId } = await call(at.identity, openSecureChannel, facts(at.clock), { payload })
  return { key, sessionId, keyId: offered.keyId }
}

test('a channel session takes no other one’s key, whose sealed bytes were put in its place', async () => {
  const [robbed, robber] = [await openChannel(), await openChannel()]
  const nameOf = ({ sessionId }: { sessionId: string }) => `{channel:${sessionId}}:session`
  const [htm, htu] = ['POST', '/web/v1/consumer/auth/login/initiate']
  const payload = await new CompactEncrypt(Buffer.from('{}'))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: robbed.sessionId, seq: 1, htm, htu })
    .encrypt(robber.key)
  await at.ports.cache.set(nameOf(robbed), (await at.ports.cache.get(nameOf(robber))) ?? '', 60_000)
  const open = async () =>
    at.identity.channel.open({
      ...{ sessionId: robbed.sessionId, portal: 'CONSUMER', clientHash: 'client-one' },
      ...{ method: htm, path: htu, payload },
    })
  await expect(open()).rejects.toThrow('a sealed channel-session does not open')
})

test('the channel’s private key is sealed for its own id', async () => {
  const { keyId } = await openChannel()
  const { private_key } = await at.ports.database
    .selectFrom('channel_keys')
    .select('private_key')
    .where('key_id', '=', keyId)
    .executeTakeFirstOrThrow()
  expect(at.ports.secretBox.open('channel-key', keyId, private_key).length).toBeGreaterThan(1_000)
})
