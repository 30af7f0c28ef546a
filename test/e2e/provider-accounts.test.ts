import { afterAll, beforeAll, expect, test } from 'vitest'
import { identityProvider } from '../../src/config/providers/settings.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { startProvider, type TestProvider } from '../harness/provider.ts'
import { signIn, signInOnly } from '../harness/sign-in.ts'

const callback = '/identity-providers/system/company/callback'
const system = '/web/v1/system'

let provider: TestProvider
let portico: Portico
beforeAll(async () => {
  provider = await startProvider({ redirectUris: [`http://127.0.0.1:8080${callback}`] })
  const { issuer, clientId, clientSecret } = provider
  portico = await startPortico({
    adjust: ({ portals }) => {
      portals.SYSTEM.links.providerCallback = '/sign-in/provider'
      portals.SYSTEM.identityProviders = [
        identityProvider.parse({
          ...{ id: 'company', name: 'Company', issuer, clientId, clientSecret, provisioning: 'invited' },
          ...{ trustsMfa: ['mfa'], stepUp: { acrValues: ['mfa'], accepts: ['mfa'] }, passwordSignIn: true },
        }),
      ]
    },
  })
})
afterAll(async () => {
  await portico?.stop()
  await provider?.close()
})

const post = (path: string, body?: object, token?: string) =>
  portico.call('POST', system + path, { ...(body && { body }), ...(token && { token }) })

function person(email: string) {
  provider.person = { sub: `sub of ${email}`, acr: 'mfa', claims: { email, email_verified: true, name: 'Paul Person' } }
}

async function replyFrom(path: string, token?: string, more: object = {}) {
  const started = await post(path, { providerId: 'company', ...more }, token)
  expect(started.status, started.text).toBe(200)
  const { authorizationUrl, sessionId } = started.body.data
  const { code, state, iss } = Object.fromEntries(await provider.visit(authorizationUrl))
  return { sessionId, code, state, iss }
}

test('providers.link 200: an operator links the account, signs in with it, steps up and unlinks it', async () => {
  const { accessToken: token } = await signIn(portico, 'operator@demo.test')
  expect((await portico.call('GET', `${system}/security/providers`, { token })).body.data).toEqual([])
  const { accessToken: unconfirmed } = await signInOnly(portico, 'operator@demo.test')
  const refusedLink = await post('/security/providers/link/initiate', { providerId: 'company' }, unconfirmed)
  expect(refusedLink.body.code).toBe('ACCESS.STEP_UP_REQUIRED')
  person('somebody@elsewhere.test')
  const reply = await replyFrom('/security/providers/link/initiate', token)
  const linked = await post('/security/providers/link', reply, token)
  expect([linked.status, linked.body.data.providerId], linked.text).toEqual([200, 'company'])
  const config = await portico.call('GET', `${system}/security/sessions/config`, { token })
  expect(config.body.data.ssoEnabled).toBe(true)

  const completed = await post('/auth/provider/complete', await replyFrom('/auth/provider/initiate'))
  const { accessToken: second } = completed.body.data.completed
  const fresh = await replyFrom('/security/step-up/provider/initiate', second)
  expect((await post('/security/step-up/provider', fresh, second)).status).toBe(200)
  expect((await post('/security/step-up/provider', fresh, second)).body.code).toBe('AUTH.SESSION_NOT_FOUND')
  const listed = await portico.call('GET', `${system}/security/providers`, { token: second })
  expect(listed.body.data).toMatchObject([{ providerId: 'company', name: 'Company' }])
  const unlinked = await post('/security/providers/unlink', { providerId: 'company' }, second)
  expect([unlinked.status, unlinked.body.data.success], unlinked.text).toEqual([200, true])
  const refused = await post('/auth/provider/complete', await replyFrom('/auth/provider/initiate'))
  expect([refused.status, refused.body.code]).toEqual([403, 'AUTH.PROVIDER_NOT_LINKED'])
  expect((await post('/security/providers/logout', undefined, second)).body.data.terminatedSessions).toBe(1)
})

test('proposals.invite 200: the invited person gets an account without permissions', async () => {
  const { accessToken: token } = await signIn(portico, 'checker@demo.test')
  const body = { accountPortal: 'SYSTEM', providerId: 'company', email: 'invited@company.test' }
  const invited = await post('/identity-providers/invitations', body, token)
  expect([invited.status, invited.body.data?.email], invited.text).toEqual([200, 'invited@company.test'])
  person('invited@company.test')
  const completed = await post('/auth/provider/complete', await replyFrom('/auth/provider/initiate'))
  const { accessToken } = completed.body.data.completed
  const self = await portico.call('GET', `${system}/security/self`, { token: accessToken })
  expect(self.body.data.permissionCodes).toEqual([])
  expect((await post('/identity-providers/invitations', body, token)).body.code).toBe('STATE.CONFLICT')
  expect((await post('/identity-providers/invitations', body, accessToken)).body.code).toBe('ACCESS.PERMISSION_DENIED')
})

test('401 and 503: a reply that the provider does not confirm, and a provider that is down', async () => {
  person('invited@company.test')
  const reply = await replyFrom('/auth/provider/initiate')
  const wrong = await post('/auth/provider/complete', { ...reply, code: 'wrong' })
  expect([wrong.status, wrong.body.code]).toEqual([401, 'AUTH.PROVIDER_REFUSED'])
  const late = await replyFrom('/auth/provider/initiate')
  portico.expectFault(({ operation, status }) => operation === 'auth.providerComplete' && status === 503)
  provider.answer = 'down'
  const down = await post('/auth/provider/complete', late)
  expect([down.status, down.body.code, down.headers.get('retry-after')]).toEqual([
    503,
    'AUTH.PROVIDER_UNAVAILABLE',
    '5',
  ])
  provider.answer = 'real'
  const dependencies = portico.log.filter(({ msg }) => msg === 'dependency failed')
  expect(dependencies).toMatchObject([{ dependency: 'identity provider company' }])
})
