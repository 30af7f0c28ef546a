import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { identityProvider } from '../../../src/config/providers/settings.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { startProvider, type TestProvider } from '../../harness/provider.ts'
import { openEventStream, readEvents } from '../event-streams-world.ts'

const consumer = '/web/v1/consumer'
const logoutPath = '/identity-providers/consumer/social/logout'
/** The gateways promise a second. The rest is for a busy machine. */
const endMs = 2_500

describe('sign-ins with a provider on several gateways', needsStore(), () => {
  let provider: TestProvider
  let portico: Portico
  let serial = 0
  beforeAll(async () => {
    const callback = 'http://127.0.0.1:8080/identity-providers/consumer/social/callback'
    provider = await startProvider({ redirectUris: [callback] })
    const { issuer, clientId, clientSecret } = provider
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.selfRegistration = 'open'
        portals.CONSUMER.links.providerCallback = '/sign-in/provider'
        portals.CONSUMER.identityProviders = [
          identityProvider.parse({
            ...{ id: 'social', name: 'Social', issuer, clientId, clientSecret, provisioning: 'create' },
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
  beforeEach(() => {
    const sub = `person-${++serial}`
    provider.person = { sub, acr: 'mfa', claims: { email: `${sub}@people.test`, email_verified: true, name: 'Pia' } }
  })

  const post = (path: string, body?: object, token?: string) =>
    portico.call('POST', consumer + path, { ...(body && { body }), ...(token && { token }) })
  const begin = async () => {
    const { authorizationUrl, sessionId } = (await post('/auth/provider/initiate', { providerId: 'social' })).body.data
    const { code, state, iss } = Object.fromEntries(await provider.visit(authorizationUrl))
    return { sessionId, code, state, iss }
  }
  const signIn = async (): Promise<string> => {
    const { body, text } = await post('/auth/provider/complete', await begin())
    return body.data.completed?.accessToken ?? expect.unreachable(text)
  }
  const logoutToken = (more: object = {}) => {
    const iat = Math.floor(Date.now() / 1_000)
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const { issuer: iss, clientId: aud, person } = provider
    const claims = { iss, aud, iat, exp: iat + 60, jti: crypto.randomUUID(), sub: person.sub, events, ...more }
    return provider.sign(claims, { typ: 'logout+jwt' })
  }
  const send = async (token: string, replica = 0) => {
    const body = new URLSearchParams({ logout_token: token })
    const url = portico.urls[replica % portico.urls.length]
    return (await fetch(url + logoutPath, { method: 'POST', body })).status
  }
  const statusesOf = (token: string) =>
    Promise.all(
      portico.urls.map(async () => (await portico.call('GET', `${consumer}/security/self`, { token })).status),
    )

  test('auth.providerComplete 200: of parallel requests with one reply, on every gateway, exactly one wins', async () => {
    for (let round = 0; round < 3; round++) {
      const reply = await begin()
      const all = await Promise.all([1, 2, 3, 4].map(() => post('/auth/provider/complete', reply)))
      expect(all.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404])
    }
  })

  test('auth.providerComplete: parallel first sign-ins of one person make one account', async () => {
    for (let round = 0; round < 3; round++) {
      const sub = `twin-${++serial}`
      provider.person = { sub, acr: 'mfa', claims: { email: `${sub}@people.test`, email_verified: true } }
      const replies = [await begin(), await begin(), await begin(), await begin()]
      const all = await Promise.all(replies.map((reply) => post('/auth/provider/complete', reply)))
      expect(all.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
      for (const { status } of all) expect([200, 401, 403]).toContain(status)
      const { database } = portico.running
      const accounts = await database
        .selectFrom('accounts')
        .select('bizId')
        .where('email', '=', `${sub}@people.test`)
        .execute()
      expect(accounts).toHaveLength(1)
      expect((await post('/auth/provider/complete', await begin())).status).toBe(200)
    }
  })

  test.each([0, 1])('back-channel logout at gateway %i ends sessions and open streams on all', async (replica) => {
    const token = await signIn()
    const other = { ...provider.person, sub: 'bystander', claims: { email: 'by@people.test', email_verified: true } }
    const person = { ...provider.person }
    provider.person = other
    const bystander = await signIn()
    provider.person = person
    expect(await statusesOf(token)).not.toContain(401)
    const current = await portico.call('GET', `${consumer}/workspaces/current`, { token })
    const workspace: string = current.body.data.bizId
    const streams = await Promise.all(
      portico.urls.map(async (_, index) => {
        const path = `${consumer}/events/stream`
        const stream = readEvents(await openEventStream(portico, path, { token, workspace, replica: index }))
        await expect.poll(stream.lastId).not.toBe('')
        return stream
      }),
    )
    const begun = performance.now()
    expect(await send(await logoutToken(), replica)).toBe(200)
    await Promise.all([
      ...streams.map(({ ended }) => ended),
      expect.poll(() => statusesOf(token), { interval: 50 }).toEqual(portico.urls.map(() => 401)),
    ])
    expect(performance.now() - begun).toBeLessThan(endMs)
    expect(await statusesOf(bystander)).toEqual(portico.urls.map(() => 200))
  })

  test('back-channel logout: a token counts once, of parallel ones at all gateways too', async () => {
    await signIn()
    const token = await logoutToken()
    const statuses = await Promise.all([0, 1, 0, 1].map((replica) => send(token, replica)))
    expect(statuses.toSorted()).toEqual([200, 400, 400, 400])
  })

  test('back-channel logout spends what a pending sign-in waits for', async () => {
    await signIn()
    provider.person = { ...provider.person, acr: 'pwd' }
    const { pending } = (await post('/auth/provider/complete', await begin())).body.data
    expect(pending.sessionId).toEqual(expect.any(String))
    expect(await send(await logoutToken())).toBe(200)
    const sent = await post('/auth/login/mfa/send', { sessionId: pending.sessionId, mfaMethod: 'EMAIL' })
    expect(sent.body.code).toBe('AUTH.SESSION_NOT_FOUND')
  })
})
