import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startWithProvider } from '../../../src/identity/browser-sessions/contract.ts'
import * as contract from '../../../src/identity/providers/contract.ts'
import { type SessionId, sessionCookieOf } from '../../../src/kernel/index.ts'
import { call, codeOf, createRequestContext, credential, invoke } from '../harness.ts'
import { type ProviderWorld, personOf, providerWorld, replyOf } from './world.ts'

const system = { portal: 'SYSTEM' } as const
const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} }

let world: ProviderWorld
let serial = 0
beforeAll(async () => {
  world = await providerWorld()
})
afterAll(() => world.close())
beforeEach(() => {
  Object.assign(world.provider, { answer: 'real', tamper: null })
})

/** The provider writes the session id `sid` into the ID token. */
async function signIn(sub: string, sid: string | null) {
  world.provider.person = personOf(`${sub}@company.test`, {}, sub)
  world.provider.tamper = ({ sid: _, ...claims }) => (sid === null ? claims : { ...claims, sid })
  const { completed } = await world.signIn()
  world.provider.tamper = null
  return completed ?? expect.unreachable()
}

function claimsOf(more: Record<string, unknown>) {
  const iat = Math.floor(world.at.clock.now() / 1_000)
  const { issuer: iss, clientId: aud } = world.provider
  return { iss, aud, iat, exp: iat + 120, jti: `jti-${++serial}`, events: logoutEvent, ...more }
}

const logoutJwt = { typ: 'logout+jwt' }

async function notify(more: Record<string, unknown>, header: Record<string, unknown> = logoutJwt): Promise<number> {
  return send(await world.provider.sign(claimsOf(more), header))
}

function send(logoutToken: string): Promise<number> {
  const notice = { ...system, providerId: 'company', requestId: 'logout-1', clientIp: '203.0.113.20' }
  return world.at.identity.endSessionsByProvider({ ...notice, logoutToken })
}

const isOpen = async ({ sessionId }: { sessionId: string }) => {
  const rows = world.at.ports.database.selectFrom('sessions').select(['endedAt', 'endReason'])
  const [row] = await rows.where('bizId', '=', sessionId as SessionId).execute()
  return row?.endedAt === null ? true : row?.endReason
}

test('back-channel logout by sid ends that session only, on every replica, with an audit entry', async () => {
  const [one, two] = [await signIn('anna', 'sid-1'), await signIn('anna', 'sid-2')]
  const other = await signIn('bert', 'sid-3')
  const replica = await world.at.replica()
  const token = credential(one.accessToken, system)
  await replica.authentication.accessToken(token)
  expect(await notify({ sub: 'anna', sid: 'sid-1' })).toBe(1)
  await expect(replica.authentication.accessToken(token)).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
  expect([await isOpen(one), await isOpen(two), await isOpen(other)]).toEqual(['PROVIDER_LOGOUT', true, true])
  const audit = world.at.ports.database.selectFrom('audit_log').select(['action', 'targetBizId', 'requestId'])
  expect(await audit.where('action', '=', 'providers.backChannelLogout').execute()).toEqual([
    { action: 'providers.backChannelLogout', targetBizId: one.sessionId, requestId: 'logout-1' },
  ])
})

test('back-channel logout by sub ends all sessions of the person and pending sign-ins', async () => {
  const [one, two, other] = [await signIn('cara', 'sid-4'), await signIn('cara', null), await signIn('dave', 'sid-5')]
  expect(await notify({ sub: 'cara' })).toBe(2)
  expect([await isOpen(one), await isOpen(two), await isOpen(other)]).toEqual([
    ...['PROVIDER_LOGOUT', 'PROVIDER_LOGOUT', true],
  ])
  expect(await notify({ sid: 'sid-5' })).toBe(1)
  expect(await notify({ sub: 'nobody' })).toBe(0)
})

test('back-channel logout with sid and sub ends sessions whose sid is unknown, too', async () => {
  const [named, unnamed] = [await signIn('emma', 'sid-6'), await signIn('emma', null)]
  expect(await notify({ sub: 'emma', sid: 'sid-7' })).toBe(1)
  expect([await isOpen(named), await isOpen(unnamed)]).toEqual([true, 'PROVIDER_LOGOUT'])
})

test.each<[string, Record<string, unknown>, Record<string, unknown>?]>([
  ['a nonce', { nonce: 'x' }],
  ['no events', { events: undefined }],
  ['other events', { events: { 'http://schemas.openid.net/event/other': {} } }],
  ['an event that is not an object', { events: { 'http://schemas.openid.net/event/backchannel-logout': 1 } }],
  ['no jti', { jti: undefined }],
  ['no iat', { iat: undefined }],
  ['an old iat', { iat: 1_000 }],
  ['an expiry in the past', { exp: 1_000 }],
  ['another issuer', { iss: 'https://evil.example' }],
  ['another audience', { aud: 'other' }],
  ['neither sid nor sub', { sub: undefined }],
  ['the type of an access token', {}, { typ: 'at+jwt' }],
  ['an unknown key', {}, { kid: 'unknown' }],
])('back-channel logout: a token with %s ends nothing', async (_, claims, header = logoutJwt) => {
  const session = await signIn('fred', 'sid-8')
  expect(await codeOf(notify({ sub: 'fred', ...claims }, header))).toBe('AUTH.PROVIDER_REFUSED')
  expect(await isOpen(session)).toBe(true)
})

test('back-channel logout: ID tokens and tokens with alg none are refused', async () => {
  const session = await signIn('gina', 'sid-9')
  let idToken = ''
  world.provider.tamper = async (claims, sign) => {
    idToken = await sign(claims)
    return idToken
  }
  await world.signIn()
  expect(await codeOf(send(idToken))).toBe('AUTH.PROVIDER_REFUSED')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const none = `${part({ alg: 'none', ...logoutJwt })}.${part(claimsOf({ sub: 'gina' }))}.`
  expect(await codeOf(send(none))).toBe('AUTH.PROVIDER_REFUSED')
  expect(await isOpen(session)).toBe(true)
})

test('back-channel logout: tokens of unknown keys make few requests to the provider, and a rotated key counts', async () => {
  await signIn('rota', 'sid-rota')
  const { provider } = world
  const forge = async () =>
    `${await provider.sign(claimsOf({ sub: 'rota' }), { ...logoutJwt, kid: crypto.randomUUID() })}`
  await provider.rotateKeys()
  // Earlier tests have sent unknown keys, too.
  world.at.clock.advance(6_000)
  const before = provider.requests.length
  expect(await notify({ sub: 'rota' })).toBe(1)
  for (let count = 0; count < 5; count++) expect(await codeOf(send(await forge()))).toBe('AUTH.PROVIDER_REFUSED')
  expect(provider.requests.slice(before)).toHaveLength(2)
  world.at.clock.advance(6_000)
  expect(await codeOf(send(await forge()))).toBe('AUTH.PROVIDER_REFUSED')
  expect(provider.requests.slice(before)).toHaveLength(4)
  world.at.clock.advance(-12_000)
})

test('back-channel logout: a token counts once, of parallel ones too', async () => {
  await signIn('hugo', 'sid-10')
  const token = await world.provider.sign(claimsOf({ sub: 'hugo' }), logoutJwt)
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => send(token)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await codeOf(send(token))).toBe('AUTH.PROVIDER_REFUSED')
})

test('providers.logout 200: ends the session and names the sign-out page with the ID token', async () => {
  const { accessToken, sessionId } = await signIn('ivan', 'sid-11')
  const caller = await world.at.identity.authentication.accessToken(credential(accessToken, system))
  const context = createRequestContext(world.at.clock, system)
  const reply = await call(world.at.identity, contract.logoutAtProvider, context, null, caller)
  const url = new URL(reply.endSessionUrl ?? '')
  expect(url.origin).toBe(world.provider.issuer)
  expect(url.searchParams.get('id_token_hint')).toMatch(/^eyJ/)
  expect(url.searchParams.get('post_logout_redirect_uri')).toBe(world.at.settings.portals.SYSTEM.links.signIn)
  expect(await isOpen({ sessionId })).toBe('LOGOUT')
})

test('providers.logout 200: ends the session even if its ID token can no longer be opened', async () => {
  const { accessToken, sessionId } = await signIn('judy', 'sid-12')
  const caller = await world.at.identity.authentication.accessToken(credential(accessToken, system))
  const sessions = world.at.ports.database.updateTable('sessions')
  await sessions
    .set({ providerToken: Buffer.from('sealed under a removed key') })
    .where('providerSid', '=', 'sid-12')
    .execute()
  const context = createRequestContext(world.at.clock, system)
  const reply = await call(world.at.identity, contract.logoutAtProvider, context, null, caller)
  expect(new URL(reply.endSessionUrl ?? '').searchParams.has('id_token_hint')).toBe(false)
  expect(await isOpen({ sessionId })).toBe('LOGOUT')
})

test('browserSessions.startWithProvider 200: sets the cookie and returns no token', async () => {
  world.provider.person = personOf('cookie@company.test')
  const started = await world.begin()
  const context = createRequestContext(world.at.clock, system)
  const reply = await invoke(world.at.identity, startWithProvider, context, replyOf(started))
  const cookie = sessionCookieOf(reply)
  expect(cookie).toMatch(/^[\w-]{43}$/)
  expect(JSON.stringify(reply)).not.toContain(cookie)
  const again = invoke(world.at.identity, startWithProvider, context, replyOf(started))
  expect(await codeOf(again)).toBe('AUTH.SESSION_NOT_FOUND')
  const elsewhere = await world.begin()
  const stolen = createRequestContext(world.at.clock, { ...system, clientHash: 'another' })
  const refused = invoke(world.at.identity, startWithProvider, stolen, replyOf(elsewhere))
  expect(await codeOf(refused)).toBe('AUTH.SESSION_NOT_FOUND')
})
