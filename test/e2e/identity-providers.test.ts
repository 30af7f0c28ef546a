import { afterAll, beforeAll, expect, test } from 'vitest'
import { identityProvider } from '../../src/config/providers/settings.ts'
import { fromOwnPage } from '../harness/browser.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { startProvider, type TestProvider } from '../harness/provider.ts'
import { signIn } from '../harness/sign-in.ts'

const callback = '/identity-providers/system/company/callback'
const logout = '/identity-providers/system/company/logout'
const system = '/web/v1/system'

let provider: TestProvider
let portico: Portico
beforeAll(async () => {
  provider = await startProvider({ redirectUris: [`http://127.0.0.1:8080${callback}`], par: true })
  const { issuer, clientId, clientSecret } = provider
  portico = await startPortico({
    adjust: ({ portals }) => {
      portals.SYSTEM.links.providerCallback = '/sign-in/provider'
      portals.SYSTEM.identityProviders = [
        identityProvider.parse({
          ...{ id: 'company', name: 'Company', issuer, clientId, clientSecret, provisioning: 'create' },
          ...{ trustsMfa: ['mfa'], groups: { ops: ['auditor'] }, returnTo: ['https://admin.example/back'] },
        }),
      ]
    },
  })
})
afterAll(async () => {
  await portico?.stop()
  await provider?.close()
})

function personWith(groups: string[], sub = 'operator-1') {
  const claims = { email: `${sub}@company.test`, email_verified: true, name: 'Olga Operator', groups }
  return { sub, acr: 'mfa', claims }
}

/** Goes to the provider and back to the page of the front end, as a browser does. */
async function visit(returnTo?: string) {
  const body = { providerId: 'company', ...(returnTo && { returnTo }) }
  const started = await portico.call('POST', `${system}/auth/provider/initiate`, { body })
  expect(started.status, started.text).toBe(200)
  const { authorizationUrl, sessionId } = started.body.data
  const query = await provider.visit(authorizationUrl)
  const response = await fetch(`${portico.url}${callback}?${query}`, { redirect: 'manual' })
  const location = new URL(response.headers.get('location') ?? '')
  const { code, state, iss } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
  return { authorizationUrl, response, location, reply: { sessionId, code, state, iss } }
}

test('auth.providers 200: names the providers of the portal only', async () => {
  const { body } = await portico.call('GET', `${system}/auth/providers`)
  expect(body.data).toEqual([{ providerId: 'company', name: 'Company' }])
  expect((await portico.call('GET', '/web/v1/consumer/auth/providers')).body.data).toEqual([])
})

test('callback 303: leads to a listed page, with the reply in the fragment and no Referer', async () => {
  const { authorizationUrl, response, location, reply } = await visit()
  expect(new URL(authorizationUrl).searchParams.has('request_uri')).toBe(true)
  expect([response.status, location.origin + location.pathname]).toEqual([
    303,
    'http://127.0.0.1:8080/sign-in/provider',
  ])
  expect(location.search).toBe('')
  expect([response.headers.get('referrer-policy'), response.headers.get('cache-control')]).toEqual([
    ...['no-referrer', 'no-store'],
  ])
  expect(portico.rawLog.join('\n')).not.toContain(reply.code)
  expect((await visit('https://admin.example/back')).location.href).toMatch(/^https:\/\/admin\.example\/back#code=/)
})

test.each([
  ['?state=x.7', 'http://127.0.0.1:8080/sign-in/provider#state=x.7'],
  [
    '?state=x.-1&code=a%23b%0d%0aset-cookie:x',
    'http://127.0.0.1:8080/sign-in/provider#code=a%23b%0D%0Aset-cookie%3Ax&state=x.-1',
  ],
  [
    '?error=access_denied&error_description=Call+0800&state=x.1',
    'https://admin.example/back#state=x.1&error=access_denied',
  ],
  ['?returnTo=https://evil.example&code=1', 'http://127.0.0.1:8080/sign-in/provider#code=1'],
  ['', 'http://127.0.0.1:8080/sign-in/provider#'],
])('callback 303: %s leads to no other page', async (query, location) => {
  const response = await fetch(`${portico.url}${callback}${query}`, { redirect: 'manual' })
  expect([response.status, response.headers.get('location')]).toEqual([303, location])
})

test('404 and 405: unknown providers, and other methods', async () => {
  const get = async (path: string, method = 'GET') =>
    (await fetch(portico.url + path, { method, redirect: 'manual' })).status
  expect(await get('/identity-providers/consumer/company/callback')).toBe(404)
  expect(await get('/identity-providers/system/other/callback')).toBe(404)
  expect(await get('/identity-providers/system/company/other')).toBe(404)
  expect([await get(callback, 'POST'), await get(logout)]).toEqual([405, 405])
})

test('auth.providerComplete 200: roles of groups wait for a second operator, and end with the group', async () => {
  provider.person = personWith(['ops'])
  const first = await portico.call('POST', `${system}/auth/provider/complete`, { body: (await visit()).reply })
  expect(first.status, first.text).toBe(200)
  const { accessToken: token } = first.body.data.completed
  const self = async () => (await portico.call('GET', `${system}/security/self`, { token })).body.data
  const { accountBizId, permissionCodes } = await self()
  expect(permissionCodes).toEqual([])

  const { accessToken: checker } = await signIn(portico, 'checker@demo.test')
  const listed = await portico.call('GET', `${system}/proposals?proposalStatus=PENDING`, { token: checker })
  const proposal = listed.body.data.items.find((each: { subjectBizId: string }) => each.subjectBizId === accountBizId)
  expect(proposal).toMatchObject({ proposedBy: null, reason: 'Groups at the identity provider company' })
  const confirm = `${system}/proposals/${proposal.bizId}/confirm`
  expect((await portico.call('POST', confirm, { token: checker })).status).toBe(200)
  // A replica caches sessions for a second.
  await expect.poll(async () => (await self()).permissionCodes).toContain('audit:read')
  const audit = () => portico.call('GET', `${system}/audit-log`, { token })
  expect((await audit()).status).toBe(200)

  provider.person = personWith([])
  const second = await portico.call('POST', `${system}/auth/provider/complete`, { body: (await visit()).reply })
  expect(second.body.data.completed).not.toBeNull()
  expect((await self()).permissionCodes).toEqual([])
  expect((await audit()).status).toBe(403)
})

test('browserSessions.startWithProvider 200: the cookie; 403 for a page of another origin', async () => {
  provider.person = personWith([])
  const path = `${system}/auth/browser-session/provider`
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const refused = await portico.call('POST', path, { body: (await visit()).reply, headers: foreign })
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []])
  const started = await portico.call('POST', path, { body: (await visit()).reply, headers: fromOwnPage })
  const [set = ''] = started.headers.getSetCookie()
  expect([started.status, set]).toEqual([200, expect.stringMatching(/^portico-system=[\w-]{43};.*HttpOnly/)])
  expect(started.text).not.toMatch(/token/i)
  const cookie = set.split(';')[0] ?? ''
  const headers = { ...fromOwnPage, cookie }
  const ended = await portico.call('POST', `${system}/security/providers/logout`, { headers })
  expect(ended.body.data.endSessionUrl).toContain(provider.issuer)
  expect(ended.headers.getSetCookie()[0]).toContain('Max-Age=0')
})

test('back-channel logout 200: ends the session; 400 for other tokens, forms and replays', async () => {
  provider.person = personWith([], 'operator-2')
  const { body } = await portico.call('POST', `${system}/auth/provider/complete`, { body: (await visit()).reply })
  const { accessToken: token } = body.data.completed
  const iat = Math.floor(Date.now() / 1_000)
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = {
    iss: provider.issuer,
    aud: provider.clientId,
    iat,
    exp: iat + 60,
    jti: 'one',
    sub: 'operator-2',
    events,
  }
  const logoutToken = await provider.sign(claims, { typ: 'logout+jwt' })
  const send = (form: BodyInit, headers: HeadersInit = {}) =>
    fetch(portico.url + logout, { method: 'POST', body: form, headers })
  expect((await send('logout_token=x', { 'content-type': 'text/plain' })).status).toBe(400)
  expect((await send(new URLSearchParams({ logout_token: 'x.y.z' }))).status).toBe(400)
  expect((await send(new URLSearchParams({ logout_token: `${'x'.repeat(70_000)}` }))).status).toBe(400)
  expect((await portico.call('GET', `${system}/security/self`, { token })).status).toBe(200)
  const ended = await send(new URLSearchParams({ logout_token: logoutToken }))
  expect([ended.status, ended.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect((await portico.call('GET', `${system}/security/self`, { token })).status).toBe(401)
  const replayed = await send(new URLSearchParams({ logout_token: logoutToken }))
  expect([replayed.status, await replayed.json()]).toEqual([400, { error: 'invalid_request' }])
})
