import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, test } from 'vitest'
import * as auth from '../../../src/identity/login/contract.ts'
import { toInstant } from '../../../src/kernel/index.ts'
import { startProvider } from '../../harness/provider.ts'
import { call, codeOf, createRequestContext, harness } from '../harness.ts'
import { personOf, redirectUri, replyOf, settingsFor } from './world.ts'

/* private_key_jwt towards the provider, which verifies the signatures. */

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2_048 })

/** Signs in with a client that has the key. */
async function signInWith(
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
  {
    clientAlgorithms,
    own = privateKey,
    keyId = 'key-1',
  }: { clientAlgorithms?: string[]; own?: KeyObject; keyId?: string | null } = {},
) {
  const clientKey = { ...publicKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig' }
  const provider = await startProvider({
    ...{ redirectUris: [redirectUri], clientKey, par: true },
    ...(clientAlgorithms && { clientAlgorithms }),
  })
  // As `privateKeyFile` is read.
  const key = createPrivateKey(own.export({ type: 'pkcs8', format: 'pem' }))
  const at = await harness(({ portals }) => {
    portals.SYSTEM.providers = [settingsFor(provider, { clientSecret: null, privateKey: { key, keyId } })]
  })
  try {
    at.clock.set(toInstant(Date.now()))
    provider.person = personOf('key@company.test')
    const run = async () => {
      const context = createRequestContext(at.clock, { portal: 'SYSTEM' })
      const started = await call(at.identity, auth.initiateProviderLogin, context, { providerId: 'company' })
      const reply = await provider.visit(started.authorizationUrl)
      return call(at.identity, auth.completeProviderLogin, context, replyOf({ ...started, reply }))
    }
    const { completed } = await run()
    expect(completed).not.toBeNull()
    return provider.assertions
  } finally {
    await at.close()
    await provider.close()
  }
}

test.each<[string, () => { privateKey: KeyObject; publicKey: KeyObject }, string[]?]>([
  ['ES256', () => ec('P-256')],
  ['ES384', () => ec('P-384'), ['ES384']],
  ['ES512', () => ec('P-521'), ['ES512']],
  ['RS256', rsa],
  ['PS256', rsa, ['PS256', 'ES256']],
  ['Ed25519', () => generateKeyPairSync('ed25519')],
])('auth.providerComplete 200: the client authenticates with a key, %s', async (alg, pair, clientAlgorithms) => {
  const assertions = await signInWith(pair(), clientAlgorithms && { clientAlgorithms })
  // One for the pushed request and one for the code.
  expect(assertions.map(({ header }) => header)).toEqual(Array(2).fill(expect.objectContaining({ alg, kid: 'key-1' })))
  const [first, second] = assertions.map(({ claims }) => claims)
  expect(first).toMatchObject({ iss: 'portico', sub: 'portico' })
  expect(Number(first?.exp) - Number(first?.iat)).toBeLessThanOrEqual(60)
  expect(first?.jti).not.toBe(second?.jti)
})

test('auth.providerComplete 200: without a key id', async () => {
  expect(await signInWith(ec('P-256'), { keyId: null })).toHaveLength(2)
})

test('auth.providerInitiate 503: a key that the provider does not know', async () => {
  const stranger = signInWith(ec('P-256'), { own: ec('P-256').privateKey })
  expect(await codeOf(stranger)).toBe('AUTH.PROVIDER_UNAVAILABLE')
})
