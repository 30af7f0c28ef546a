import { afterAll, beforeAll, expect, test } from 'vitest'
import { identityProvider } from '../../../src/config/providers/settings.ts'
import { client, data, refusal } from '../../harness/identity.ts'
import type { Portico } from '../../harness/portico.ts'
import { startProvider, type TestProvider } from '../../harness/provider.ts'
import { enterAsOperator, ofConsumer, ofMerchant, startWithMerchant } from './world.ts'

const callback = '/identity-providers/merchant/company/callback'
const email = 'invited@company.test'

let provider: TestProvider
let portico: Portico
beforeAll(async () => {
  provider = await startProvider({ redirectUris: [`http://127.0.0.1:8080${callback}`] })
  const { issuer, clientId, clientSecret } = provider
  portico = await startWithMerchant({
    adjust: ({ portals }) => {
      const { MERCHANT } = portals
      if (!MERCHANT) throw new Error('no portal')
      MERCHANT.links = { ...MERCHANT.links, providerCallback: '/sign-in/provider' }
      MERCHANT.identityProviders = [
        identityProvider.parse({
          ...{ id: 'company', name: 'Company', issuer, clientId, clientSecret, provisioning: 'invited' },
          ...{ trustsMfa: ['mfa'] },
        }),
      ]
    },
  })
})
afterAll(async () => {
  await portico?.stop()
  await provider?.close()
})

test('proposals.invite 200 for MERCHANT: the person signs in there, and the reply of the provider is nothing at CONSUMER', async () => {
  const manager = await enterAsOperator(portico, 'checker@demo.test')
  const invite = (accountPortal: string) =>
    manager.post('/identity-providers/invitations', { accountPortal, providerId: 'company', email })
  for (const portal of ['CONSUMER', 'SYSTEM', 'OTHER'])
    expect([portal, (await invite(portal)).status]).toEqual([portal, 400])
  expect(data(await invite('MERCHANT'))).toMatchObject({ email, providerId: 'company' })

  provider.person = { sub: email, acr: 'mfa', claims: { email, email_verified: true, name: 'Mia Merchant' } }
  const [merchant, consumer] = [client(portico, { chain: ofMerchant }), client(portico, { chain: ofConsumer })]
  expect(data(await consumer.get('/auth/providers'))).toEqual([])
  expect((await consumer.post('/auth/provider/initiate', { providerId: 'company' })).status).not.toBe(200)
  const started = data(await merchant.post('/auth/provider/initiate', { providerId: 'company' }))
  const query = await provider.visit(started.authorizationUrl)
  for (const other of ['consumer', 'system', 'MERCHANT', 'other'])
    expect(
      (await fetch(`${portico.url}/identity-providers/${other}/company/callback?${query}`, { redirect: 'manual' }))
        .status,
    ).toBe(404)
  const location = (await fetch(`${portico.url}${callback}?${query}`, { redirect: 'manual' })).headers.get('location')
  const { code, state, iss } = Object.fromEntries(new URLSearchParams(new URL(location ?? '').hash.slice(1)))
  const reply = { sessionId: started.sessionId, code, state, iss }
  const there = client(portico, { chain: ofConsumer, hash: merchant.hash, ip: merchant.ip })
  expect(refusal(await there.post('/auth/provider/complete', reply))).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  const { accessToken } = data(await merchant.post('/auth/provider/complete', reply)).completed
  expect(data(await merchant.get('/profile', accessToken))).toMatchObject({
    accountEmail: email,
    accountPortal: { code: 'MERCHANT' },
  })
})
