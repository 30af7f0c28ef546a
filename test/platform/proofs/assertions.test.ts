import { createSecretKey } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { createMemoryCache } from '../../../src/platform/cache/index.ts'
import { type ProvenRequest, RequestProofs } from '../../../src/platform/proofs/index.ts'
import { assertionOf, type SignedClaims, signingPair } from '../../harness/proofs.ts'
import { testClock } from '../../identity/clock.ts'

const clock = testClock()
const started = clock.now()
const audience = 'https://portal.example'
const prefix = 'ptk_0123456789ab'
const path = '/api/v1/consumer/wallets'
const request = { method: 'GET', url: audience + path }
const pair = await signingPair()
const other = await signingPair()
const key = { prefix, publicKey: pair.publicKey }

let proofs: RequestProofs
beforeEach(() => {
  proofs = new RequestProofs(createMemoryCache(clock, 100))
})

function received(changes: Partial<ProvenRequest> = {}): ProvenRequest {
  const baseUrls = [audience, 'https://shop.example']
  return { method: 'GET', baseUrls, path, receivedAt: clock.now(), isRepeated: false, ...changes }
}
function sign(signed: SignedClaims = {}, by = pair) {
  return assertionOf(by, { ...request, prefix, audience }, { at: clock.now(), ...signed })
}
function problemOf(assertion: string, changes: Partial<ProvenRequest> = {}): Promise<string | undefined> {
  return proofs.verifyAssertion(assertion, key, received(changes))
}
const seconds = () => Math.floor(clock.now() / 1_000)

describe('an assertion of an API key', () => {
  test.each(['ES256', 'Ed25519', 'EdDSA', 'PS256', 'RS256'])('%s: is valid', async (alg) => {
    const signer = await signingPair(alg)
    const assertion = await sign({}, signer)
    expect(await proofs.verifyAssertion(assertion, { prefix, publicKey: signer.publicKey }, received())).toBeUndefined()
    expect(await problemOf(assertion)).toBeDefined()
  })

  test('is valid once, and when the same request is checked again', async () => {
    const assertion = await sign()
    expect(await problemOf(assertion)).toBeUndefined()
    expect(await problemOf(assertion, { isRepeated: true })).toBeUndefined()
    expect(await problemOf(assertion)).toBe('the proof was used before')
  })

  test('is valid once in parallel, and until it has expired', async () => {
    const assertion = await sign()
    const problems = await Promise.all(Array.from({ length: 20 }, () => problemOf(assertion)))
    expect(problems.filter((each) => each === undefined)).toHaveLength(1)
    for (let second = 0; second <= 80; second++) {
      clock.advance(1_000)
      expect(await problemOf(assertion)).toBeDefined()
    }
  })

  test('may name any host of the portal, with a query, and in another case', async () => {
    for (const htu of [
      `https://shop.example${path}`,
      `${audience}${path}?page=2#top`,
      `HTTPS://PORTAL.example:443${path}`,
    ])
      expect(await problemOf(await sign({ claims: { htu } })), htu).toBeUndefined()
  })

  test.each<[string, SignedClaims]>([
    ['another audience', { claims: { aud: 'https://elsewhere.example' } }],
    ['several audiences', { claims: { aud: [audience, 'https://elsewhere.example'] } }],
    ['no audience', { claims: { aud: undefined } }],
    ['another issuer', { claims: { iss: 'ptk_ffffffffffff' } }],
    ['another subject', { claims: { sub: 'ptk_ffffffffffff' } }],
    ['another method', { claims: { htm: 'POST' } }],
    ['a method in another case', { claims: { htm: 'get' } }],
    ['another path', { claims: { htu: `${request.url}/x` } }],
    ['another host', { claims: { htu: `https://elsewhere.example${path}` } }],
    ['another scheme', { claims: { htu: `http://portal.example${path}` } }],
    ['a user in the URL', { claims: { htu: `https://user@portal.example${path}` } }],
    ['no URL', { claims: { htu: undefined } }],
    ['no jti', { claims: { jti: undefined } }],
    ['an empty jti', { claims: { jti: '' } }],
    ['a long jti', { claims: { jti: 'x'.repeat(257) } }],
    ['no iat', { claims: { iat: undefined } }],
    ['no exp', { claims: { exp: undefined } }],
    ['a lifetime above 60 seconds', { claims: { exp: seconds() + 3_600 } }],
    ['an expired assertion', { at: clock.now() - 71_000 }],
    ['one from the future', { at: clock.now() + 12_000 }],
    ['another type', { header: { typ: 'JWT' } }],
    ['an access token', { header: { typ: 'at+jwt' } }],
  ])('refuses %s', async (_, signed) => {
    const at = signed.at === undefined ? clock.now() : clock.now() + (signed.at - started)
    const claims = signed.claims?.exp === undefined ? signed.claims : { ...signed.claims, exp: seconds() + 3_600 }
    expect(await problemOf(await sign({ ...signed, at, ...(claims && { claims }) }))).toBeDefined()
  })

  test('accepts clocks that differ by up to ten seconds', async () => {
    for (const ms of [-69_000, -10_000, 9_000])
      expect(await problemOf(await sign({ at: clock.now() + ms })), `${ms} ms`).toBeUndefined()
  })

  test('refuses the signature of another key, none, and HS256 with the public key', async () => {
    const claims = { iss: prefix, sub: prefix, aud: audience, htm: 'GET', htu: request.url, iat: seconds() }
    const whole = { ...claims, exp: seconds() + 60, jti: 'a' }
    const unsigned = new UnsecuredJWT(whole).encode()
    const secret = createSecretKey(Buffer.from(JSON.stringify(pair.publicKey)))
    const hmac = new SignJWT(whole).setProtectedHeader({ alg: 'HS256', typ: 'client-authentication+jwt' })
    const signature = (await sign()).split('.')[2]
    const forged = `${(await sign()).split('.').slice(0, 2).join('.')}.${signature}`
    for (const assertion of [await sign({}, other), unsigned, await hmac.sign(secret), forged])
      expect(await problemOf(assertion), assertion).toBeDefined()
  })

  test('refuses a key in its header, and a long one, without reading it', async () => {
    expect(await problemOf(await sign({ header: { jwk: other.publicKey } }, other))).toBe(
      'signature verification failed',
    )
    expect(await problemOf(await sign({ claims: { pad: 'x'.repeat(5_000) } }))).toBe('the proof is too long')
  })

  test('rejects if the memory of used assertions is full', async () => {
    proofs = new RequestProofs(createMemoryCache(clock, 1))
    expect(await problemOf(await sign())).toBeUndefined()
    const rejected = proofs.verifyAssertion(await sign(), key, received())
    await expect(rejected).rejects.toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
    clock.advance(91_000)
    expect(await problemOf(await sign())).toBeUndefined()
  })
})
