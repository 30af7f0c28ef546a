import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportSPKI, importJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createIdentity, SigningKeys } from '../../../src/identity/index.ts'
import { addMs, bizId } from '../../../src/kernel/index.ts'
import { codeOf, credential, type Harness, harness, signIn } from '../harness.ts'

let at: Harness
let token: string
let claims: JWTPayload
let kid: string
let signingKey: KeyObject

function part(text: string, index: number) {
  return JSON.parse(Buffer.from(text.split('.')[index] ?? '', 'base64url').toString())
}
function encode(value: object) {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

beforeAll(async () => {
  at = await harness((settings) => {
    settings.portals.CONSUMER.codeSends.limit = 1_000
    settings.tokens.clockSkewMs = 5_000
  })
  await at.account('tok@demo.test')
  await at.account('op@demo.test', { portal: 'SYSTEM' })
})
beforeEach(async () => {
  token = (await signIn(at, 'tok@demo.test')).accessToken
  claims = part(token, 1)
  kid = part(token, 0).kid
  const row = await at.ports.database
    .selectFrom('signing_keys')
    .selectAll()
    .where('kid', '=', kid)
    .executeTakeFirstOrThrow()
  const der = Buffer.from(at.ports.secretBox.open('signing-key', kid, row.privateKey))
  signingKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
})
afterAll(() => at.close())

async function read(text: string, more = {}) {
  return at.identity.authentication.accessToken(credential(text, more))
}
function signed(payload: JWTPayload, header: object = {}) {
  return new SignJWT(payload).setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header }).sign(signingKey)
}

describe('ACCESS.TOKEN_INVALID for a forged access token', () => {
  test('garbage, an empty text, 100 KB, a fourth part', async () => {
    for (const text of ['garbage', '', '..', 'a.b.c', 'x'.repeat(100_000), `${token}.${token}`])
      expect(await codeOf(read(text))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('padding, white space, stray bits or non-base64url characters in any part', async () => {
    const parts = token.split('.')
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const spellings = new Set<string>()
    for (const [index, part] of parts.entries()) {
      const decoded = Buffer.from(part, 'base64url')
      const sameBytes = [...alphabet].map((last) => part.slice(0, -1) + last)
      const loose = [
        `${part}=`,
        `${part}==`,
        `${part} `,
        ` ${part}`,
        `${part.slice(0, 5)}\n${part.slice(5)}`,
        `${part}%`,
      ]
      for (const spelling of [...sameBytes, ...loose, decoded.toString('base64')])
        if (spelling !== part && Buffer.from(spelling, 'base64url').equals(decoded))
          spellings.add(parts.with(index, spelling).join('.'))
    }
    expect(spellings.size).toBeGreaterThanOrEqual(15 + 3 * 6)
    for (const spelling of spellings) expect(await codeOf(read(spelling))).toBe('ACCESS.TOKEN_INVALID')
    expect((await read(token)).portal).toBe('CONSUMER')
  })

  test('a correct signature over non-canonical base64url', async () => {
    const [header = '', payload = ''] = token.split('.')
    for (const [first, second] of [
      [`${header}=`, payload],
      [header, `${payload}=`],
    ]) {
      const signature = sign(null, Buffer.from(`${first}.${second}`), signingKey).toString('base64url')
      expect(await codeOf(read(`${first}.${second}.${signature}`))).toBe('ACCESS.TOKEN_INVALID')
    }
  })

  test('alg none in any spelling', async () => {
    for (const alg of ['none', 'None', 'nOnE'])
      expect(await codeOf(read(`${encode({ alg, typ: 'at+jwt', kid })}.${encode(claims)}.`))).toBe(
        'ACCESS.TOKEN_INVALID',
      )
    expect(await codeOf(read(new UnsecuredJWT(claims).encode()))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('HS256 keyed with the public key', async () => {
    const publicKey = createPublicKey(signingKey)
    const header = { alg: 'HS256', typ: 'at+jwt', kid }
    for (const secret of [
      Buffer.from(await exportSPKI(publicKey)),
      publicKey.export({ format: 'der', type: 'spki' }),
      Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
    ])
      expect(await codeOf(read(await new SignJWT(claims).setProtectedHeader(header).sign(secret)))).toBe(
        'ACCESS.TOKEN_INVALID',
      )
  })

  test('a key of the attacker: used to sign, embedded, or at a URL, which is not fetched', async () => {
    let connections = 0
    const listener = createServer()
      .on('connection', () => connections++)
      .listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const address = listener.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/jwks.json`
    const own = generateKeyPairSync('ed25519')
    const jwk = own.publicKey.export({ format: 'jwk' })
    for (const header of [{}, { jwk }, { jku: url }, { x5u: url }, { kid: url }]) {
      const forged = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header })
        .sign(own.privateKey)
      expect(await codeOf(read(forged))).toBe('ACCESS.TOKEN_INVALID')
      if (Object.keys(header).length > 0)
        expect(await codeOf(read(await signed(claims, header)))).toBe('ACCESS.TOKEN_INVALID')
    }
    expect(connections).toBe(0)
    listener.close()
  })

  test('a kid that is a path, SQL, unknown or missing', async () => {
    for (const wrong of ['../../dev/null', "' OR 1=1 --", '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10', '', undefined])
      expect(await codeOf(read(await signed(claims, { kid: wrong })))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('crit, b64, zip and any other header', async () => {
    const headers = [{ crit: ['exp'], exp: 1 }, { b64: true, crit: ['b64'] }, { zip: 'DEF' }, { cty: 'JWT' }]
    for (const header of headers) {
      const text = `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header })}.${encode(claims)}.${token.split('.')[2]}`
      expect(await codeOf(read(text))).toBe('ACCESS.TOKEN_INVALID')
    }
  })

  test('another typ, a call assertion, another issuer, another audience, several audiences', async () => {
    for (const typ of ['JWT', 'portico-call+jwt', undefined])
      expect(await codeOf(read(await signed(claims, { typ })))).toBe('ACCESS.TOKEN_INVALID')
    const assertion = await at.identity.signer.sign({ audience: String(claims.aud), claims, ttlMs: 60_000 })
    expect(await codeOf(read(assertion))).toBe('ACCESS.TOKEN_INVALID')
    for (const wrong of [{ iss: 'other' }, { aud: 'portico/other' }, { aud: ['portico/consumer', 'portico/system'] }])
      expect(await codeOf(read(await signed({ ...claims, ...wrong })))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('a correct signature with a missing, malformed or unknown claim', async () => {
    for (const name of Object.keys(claims)) {
      const { [name]: _, ...rest } = claims
      expect([name, await codeOf(read(await signed(rest)))]).toEqual([name, 'ACCESS.TOKEN_INVALID'])
    }
    for (const wrong of [{ exp: 'soon' }, { exp: -1 }, { sub: 'me' }, { sid: null }, { aud: {} }]) {
      const text = `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid })}.${encode({ ...claims, ...wrong })}`
      const signature = sign(null, Buffer.from(text), signingKey).toString('base64url')
      expect(await codeOf(read(`${text}.${signature}`))).toBe('ACCESS.TOKEN_INVALID')
    }
    expect(await codeOf(read(await signed({ ...claims, admin: true })))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('a correct signature for the session of another account', async () => {
    await at.account('other@demo.test')
    const { sub } = part((await signIn(at, 'other@demo.test')).accessToken, 1)
    await read(await signed(claims))
    expect(await codeOf(read(await signed({ ...claims, sub })))).toBe('ACCESS.TOKEN_INVALID')
  })
})

describe('time claims', () => {
  const now = () => Math.floor(at.clock.now() / 1_000)

  test('exp, nbf and iat are exact to the second, at the limit of the clock skew', async () => {
    for (const [wrong, good] of [
      [{ exp: -5 }, { exp: -4 }],
      [{ nbf: 6 }, { nbf: 5 }],
      [{ iat: 6 }, { iat: 5 }],
    ]) {
      const shifted = (by: object = {}) =>
        signed({ ...claims, ...Object.fromEntries(Object.entries(by).map(([name, each]) => [name, now() + each])) })
      expect(await codeOf(read(await shifted(wrong)))).toBe('ACCESS.TOKEN_INVALID')
      expect((await read(await shifted(good))).portal).toBe('CONSUMER')
    }
    expect(await codeOf(read(await signed({ ...claims, iat: now() + 86_400 })))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('a cached token is rejected after its expiry, and after the clock was set back', async () => {
    await read(token)
    const issued = at.clock.now()
    at.clock.advance(904_999)
    expect((await read(token)).portal).toBe('CONSUMER')
    at.clock.advance(1)
    expect(await codeOf(read(token))).toBe('ACCESS.TOKEN_INVALID')
    at.clock.set(issued)
    await read(token)
    at.clock.advance(-3_600_000)
    expect(await codeOf(read(token))).toBe('ACCESS.TOKEN_INVALID')
    at.clock.set(issued)
  })
})

test('a token that expires during the upload of the body is valid; a session that ends is not', async () => {
  const receivedAt = at.clock.now()
  await read(token)
  at.clock.advance(at.settings.tokens.accessTtlMs + at.settings.tokens.clockSkewMs)
  const other = await at.replica()
  for (const identity of [at.identity, other]) {
    const again = async (more = {}) => identity.authentication.accessToken(credential(token, more))
    expect((await again({ receivedAt })).sessionId).toBe(claims.sid)
    expect(await codeOf(again())).toBe('ACCESS.TOKEN_INVALID')
  }
  await at.ports.database.updateTable('sessions').set({ endedAt: new Date(), endReason: 'TERMINATED' }).execute()
  at.clock.advance(1_000)
  expect(await codeOf(read(token, { receivedAt }))).toBe('ACCESS.TOKEN_INVALID')
})

describe('an access token is invalid', () => {
  test('on the other portal and with another client hash; without a portal, its own portal applies', async () => {
    expect(await codeOf(read(token, { portal: 'SYSTEM' }))).toBe('ACCESS.TOKEN_INVALID')
    expect(await codeOf(read(token, { clientHash: 'thief' }))).toBe('ACCESS.TOKEN_INVALID')
    const operator = await signIn(at, 'op@demo.test', { portal: 'SYSTEM' })
    expect(await codeOf(read(operator.accessToken))).toBe('ACCESS.TOKEN_INVALID')
    expect((await read(operator.accessToken, { portal: null })).portal).toBe('SYSTEM')
  })

  test('after its session has ended, in any spelling', async () => {
    await read(token)
    await at.ports.database.updateTable('sessions').set({ endedAt: new Date(), endReason: 'TERMINATED' }).execute()
    at.clock.advance(1_000)
    for (const text of [token, `${token} `, `${token}=`, token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')])
      expect(await codeOf(read(text))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('30 minutes after the last activity of its session', async () => {
    const session = await signIn(at, 'tok@demo.test')
    at.clock.advance(14 * 60_000)
    await read(session.accessToken)
    const row = () =>
      at.ports.database
        .selectFrom('sessions')
        .select('idleExpiresAt')
        .where('bizId', '=', bizId<'session'>(session.sessionId))
    expect((await row().executeTakeFirstOrThrow()).idleExpiresAt).toBe(at.clock.now() + 30 * 60_000)
  })
})

describe('signing keys', () => {
  test('rotation: the new key is published before it signs; the old key verifies until its tokens expire', async () => {
    const next = await at.identity.rotateSigningKey()
    const other = await at.replica()
    expect((await at.identity.jwks()).keys.map((key) => key.kid).sort()).toEqual([kid, next].sort())
    expect(part((await signIn(at, 'tok@demo.test')).accessToken, 0).kid).toBe(kid)
    at.clock.advance(120_000)
    const after = (await signIn(at, 'tok@demo.test')).accessToken
    expect(part(after, 0).kid).toBe(next)
    expect((await read(token)).portal).toBe('CONSUMER')
    expect((await other.authentication.accessToken(credential(after))).portal).toBe('CONSUMER')
    const old = at.ports.database.selectFrom('signing_keys').select('retiresAt').where('kid', '=', kid)
    const { retiresAt: end } = await old.executeTakeFirstOrThrow()
    const published = async () => (await at.identity.jwks()).keys.map((key) => key.kid)
    at.clock.set(addMs(end ?? expect.fail(), -1))
    expect(await published()).toContain(kid)
    at.clock.advance(1)
    expect(await published()).toEqual([next])
    expect(await codeOf(read(token))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('rotation: the old key is published until the last call assertion has expired', async () => {
    const assertionTtlMs = 2 * at.settings.tokens.accessTtlMs
    const other = await createIdentity(at.ports, {
      ...at.settings,
      tokens: { ...at.settings.tokens, assertionTtlMs },
    })
    const assertion = await other.signer.sign({ audience: 'service', claims: {}, ttlMs: assertionTtlMs })
    await other.rotateSigningKey()
    at.clock.advance(assertionTtlMs - 1_000)
    expect((await other.jwks()).keys.map((key) => key.kid)).toContain(part(assertion, 0).kid)
  })

  test('the first key signs after the clock was set back to before its activation', async () => {
    const [issued, { database }] = [at.clock.now(), at.ports]
    const keys = database.selectFrom('signing_keys').select(['kid', 'activatesAt']).orderBy('activatesAt')
    const first = await keys.executeTakeFirstOrThrow()
    for (const by of [2_000, 3_600_000]) {
      at.clock.set(addMs(first.activatesAt, -by))
      const { accessToken } = await signIn(at, 'tok@demo.test')
      expect(part(accessToken, 0).kid).toBe(first.kid)
      const other = await at.replica()
      expect((await other.authentication.accessToken(credential(accessToken))).portal).toBe('CONSUMER')
    }
    at.clock.set(issued)
  })

  test('the JWK Set contains no private key', async () => {
    const { keys } = await at.identity.jwks()
    expect(JSON.stringify(keys)).not.toContain('"d"')
    expect(keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' })
    expect(await importJWK(keys[0] ?? {})).toBeDefined()
  })

  test('rotation: a further rotation does not extend the lifetime of a retiring key', async () => {
    const leaving = () =>
      at.ports.database.selectFrom('signing_keys').select(['kid', 'retiresAt']).where('retiresAt', 'is not', null)
    await at.identity.rotateSigningKey()
    const before = await leaving().execute()
    at.clock.advance(60_000)
    await at.identity.rotateSigningKey()
    expect(before).not.toEqual([])
    expect(await leaving().execute()).toEqual(expect.arrayContaining(before))
  })

  test('revocation: tokens of the key become invalid, the JWK Set drops it, and a new key signs immediately', async () => {
    const keys = new SigningKeys(at.ports, at.settings.tokens)
    const { kid: active } = await keys.signing()
    const { accessToken } = await signIn(at, 'tok@demo.test')
    const other = await at.replica()
    expect((await other.authentication.accessToken(credential(accessToken))).portal).toBe('CONSUMER')
    const signing = await keys.revoke(active)
    at.clock.advance(at.settings.tokens.keyRefreshMs)
    for (const identity of [at.identity, other]) {
      expect(await codeOf(Promise.resolve(identity.authentication.accessToken(credential(accessToken))))).toBe(
        'ACCESS.TOKEN_INVALID',
      )
      const published = (await identity.jwks()).keys.map((key) => key.kid)
      expect(published).not.toContain(active)
      expect(published).toContain(signing)
    }
    const renewed = (await signIn(at, 'tok@demo.test')).accessToken
    expect(part(renewed, 0).kid).toBe(signing)
    expect((await other.authentication.accessToken(credential(renewed))).portal).toBe('CONSUMER')
    expect(await keys.revoke(active)).toBeUndefined()
  })

  test('revocation of the next key before it signs: a new key signs immediately', async () => {
    const keys = new SigningKeys(at.ports, at.settings.tokens)
    const pending = await keys.rotate()
    const signing = await keys.revoke(pending)
    expect((await keys.signing()).kid).toBe(signing)
    expect(signing).not.toBe(pending)
  })

  test('replicas that start on an empty store create one key', async () => {
    const { database } = at.ports
    await database.deleteFrom('signing_keys').execute()
    await Promise.all([at.replica(), at.replica(), at.replica()])
    expect(await database.selectFrom('signing_keys').select('kid').execute()).toHaveLength(1)
  })
})
