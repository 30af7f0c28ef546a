import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { minutes } from '../../../src/kernel/index.ts'
import { startProvider, type TestProvider } from '../../harness/provider.ts'
import { codeOf } from '../harness.ts'
import { otherRedirectUri, type ProviderWorld, personOf, providerWorld, settingsFor } from './world.ts'

let other: TestProvider
let world: ProviderWorld
beforeAll(async () => {
  other = await startProvider({ redirectUris: [otherRedirectUri] })
  const second = { id: 'other', redirectUri: otherRedirectUri }
  world = await providerWorld({}, undefined, ({ portals }) => {
    portals.SYSTEM.providers = [...portals.SYSTEM.providers, settingsFor(other, second)]
  })
})
afterAll(async () => {
  await world.close()
  await other.close()
})
beforeEach(() => {
  for (const each of [world.provider, other]) Object.assign(each, { tamper: null, rewrite: null })
  world.provider.person = personOf('victim@company.test')
  other.person = personOf('attacker@company.test')
})

const sessions = () => world.at.ports.database.selectFrom('sessions').select('bizId').execute()

async function refusesWithoutSession(attempt: () => Promise<unknown>): Promise<string> {
  const before = (await sessions()).length
  const code = await codeOf(attempt())
  expect(await sessions()).toHaveLength(before)
  return code
}

test('auth.providerComplete 404: a reply counts once', async () => {
  const started = await world.begin()
  await world.complete(started)
  expect(await refusesWithoutSession(() => world.complete(started))).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.providerComplete: of parallel requests with one reply, one signs in', async () => {
  const started = await world.begin()
  const before = (await sessions()).length
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => world.complete(started)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await sessions()).toHaveLength(before + 1)
})

test('auth.providerComplete 404: a stolen callback is worthless in another browser, and stays valid in its own', async () => {
  const started = await world.begin()
  const stolen = () => world.complete(started, { clientHash: 'another-client' })
  expect(await refusesWithoutSession(stolen)).toBe('AUTH.SESSION_NOT_FOUND')
  const own = await world.begin({ context: { clientHash: 'another-client' } })
  const withOwnAttempt = () => world.complete({ ...own, reply: started.reply }, { clientHash: 'another-client' })
  expect(await refusesWithoutSession(withOwnAttempt)).toBe('AUTH.SESSION_NOT_FOUND')
  expect((await world.complete(started)).completed).not.toBeNull()
})

test('auth.providerComplete 404: a callback of the attacker’s attempt does not sign the victim’s browser in', async () => {
  world.provider.person = personOf('attacker@company.test')
  const planted = await world.begin({ context: { clientHash: 'attacker' } })
  const victim = await world.begin()
  const forced = () => world.complete({ ...victim, reply: planted.reply })
  expect(await refusesWithoutSession(forced)).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.providerComplete 401: an injected code of another attempt fails by PKCE', async () => {
  const [own, stolen] = [await world.begin(), await world.begin()]
  const reply = new URLSearchParams(own.reply)
  reply.set('code', stolen.reply.get('code') ?? '')
  expect(await refusesWithoutSession(() => world.complete({ ...own, reply }))).toBe('AUTH.PROVIDER_REFUSED')
})

test.each([
  ['of another provider', () => other.issuer],
  ['missing although announced', () => null],
  ['of nobody', () => 'https://evil.example'],
])('auth.providerComplete 401: iss %s', async (_, issOf) => {
  const started = await world.begin()
  const iss = issOf()
  if (iss === null) started.reply.delete('iss')
  else started.reply.set('iss', iss)
  const requests = world.provider.requests.length
  expect(await refusesWithoutSession(() => world.complete(started))).toBe('AUTH.PROVIDER_REFUSED')
  expect(world.provider.requests.slice(requests)).not.toContain('/token')
})

test('auth.providerComplete: mix-up: no provider gets a code of the other', async () => {
  const [one, two] = [await world.begin(), await world.begin({ providerId: 'other' })]
  const requests = other.requests.length
  const swapped = new URLSearchParams(two.reply)
  swapped.set('code', one.reply.get('code') ?? '')
  swapped.set('iss', one.reply.get('iss') ?? '')
  expect(await refusesWithoutSession(() => world.complete({ ...two, reply: swapped }))).toBe('AUTH.PROVIDER_REFUSED')
  expect(other.requests.slice(requests)).not.toContain('/token')
  const crossed = { sessionId: one.sessionId, reply: two.reply }
  expect(await refusesWithoutSession(() => world.complete(crossed))).toBe('AUTH.SESSION_NOT_FOUND')
})

test.each<[string, NonNullable<TestProvider['tamper']>]>([
  ['another nonce', (claims) => ({ ...claims, nonce: 'other' })],
  ['no nonce', ({ nonce: _, ...claims }) => claims],
  ['another audience', (claims) => ({ ...claims, aud: 'other-client' })],
  ['several audiences without azp', (claims) => ({ ...claims, aud: ['portico', 'other'] })],
  ['another azp', (claims) => ({ ...claims, azp: 'other-client' })],
  ['another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
  ['an expiry an hour ago', (claims) => ({ ...claims, exp: Number(claims.iat) - 3_600 })],
  ['no expiry', ({ exp: _, ...claims }) => claims],
  ['an iat in an hour', (claims) => ({ ...claims, iat: Number(claims.iat) + 3_600, exp: Number(claims.exp) + 3_600 })],
  ['no subject', ({ sub: _, ...claims }) => claims],
  ['a subject that the store would change', (claims) => ({ ...claims, sub: 'sub\ud800' })],
  ['a subject with NUL', (claims) => ({ ...claims, sub: 'sub\0' })],
  ['a subject that no index can hold', (claims) => ({ ...claims, sub: randomBytes(4_000).toString('hex') })],
  ['a key of nobody', async (claims) => unknownKey(claims)],
  ['alg none', async (claims) => unsigned(claims)],
])('auth.providerComplete 401: an ID token with %s', async (_, tamper) => {
  world.provider.tamper = tamper
  expect(await refusesWithoutSession(() => world.signIn())).toBe('AUTH.PROVIDER_REFUSED')
})

test('auth.providerComplete 200: claims that the store cannot hold count as missing', async () => {
  const odd = { oid: 'o\0', sid: 's\0', name: 'Olga\0\u202eagl0', email: 'odd@company.test', groups: { a: 1 } }
  world.provider.tamper = (claims) => ({ ...claims, ...odd, sub: 'odd' })
  expect((await world.signIn()).completed).not.toBeNull()
  const { database } = world.at.ports
  const accounts = database.selectFrom('accounts').select('accountName').where('emailCanonical', '=', odd.email)
  expect(await accounts.execute()).toEqual([{ accountName: odd.email }])
})

test('auth.providerComplete 401: a reply without an ID token', async () => {
  world.provider.rewrite = (path, { id_token: token, ...body }) =>
    path === '/token' || token === undefined ? body : { ...body, id_token: token }
  expect(await refusesWithoutSession(() => world.signIn())).toBe('AUTH.PROVIDER_REFUSED')
})

test('auth.providerComplete 404: after the time limit, at another portal, and as another kind', async () => {
  const [late, elsewhere] = [await world.begin(), await world.begin()]
  const atConsumer = () => world.complete(elsewhere, { portal: 'CONSUMER' })
  expect(await refusesWithoutSession(atConsumer)).toBe('AUTH.SESSION_NOT_FOUND')
  world.at.clock.advance(minutes(10))
  expect(await refusesWithoutSession(() => world.complete(late))).toBe('AUTH.SESSION_NOT_FOUND')
  world.at.clock.advance(-minutes(10))
})

test('auth.providerInitiate 400: an unknown provider, and a page that is not listed', async () => {
  expect(await codeOf(world.begin({ providerId: 'nobody' }))).toBe('VALIDATION.INVALID_PARAMETER')
  for (const returnTo of ['https://evil.example', 'http://127.0.0.1:8080/sign-in/provider/..', '//evil.example'])
    expect(await codeOf(world.begin({ returnTo }))).toBe('VALIDATION.INVALID_PARAMETER')
})

test('the store holds no verifier, nonce, state or session id of an attempt', async () => {
  const { sessionId, authorizationUrl } = await world.begin()
  const { state, nonce } = Object.fromEntries(new URL(authorizationUrl).searchParams)
  const rows = await world.at.ports.database.selectFrom('provider_attempts').selectAll().execute()
  const text = rows.map((row) => Object.values(row).map((value) => Buffer.from(String(value)).toString())).join()
  for (const secret of [sessionId, state, nonce]) expect(text).not.toContain(secret)
})

async function unknownKey(claims: object): Promise<string> {
  const stranger = await startProvider({ redirectUris: [otherRedirectUri] })
  const token = await stranger.sign({ ...claims })
  await stranger.close()
  return token
}

function unsigned(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}
