import { generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { describe, expect, test } from 'vitest'
import { parsePublicKey } from '../../../src/platform/proofs/index.ts'

function rsa(modulusLength: number, publicExponent = 65_537) {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength, publicExponent })
  return publicKey.export({ format: 'jwk' })
}
const ec = await exportJWK((await generateKeyPair('ES256')).publicKey)
const ed = await exportJWK((await generateKeyPair('Ed25519')).publicKey)
const large = rsa(2_048)

describe('parsePublicKey', () => {
  test.each([
    ['P-256', ec, ['ES256']],
    ['Ed25519', ed, ['EdDSA', 'Ed25519']],
    ['RSA with 2048 bits', large, ['PS256', 'RS256']],
    ['RSA for one algorithm', { ...large, alg: 'PS256' }, ['PS256']],
  ])('%s: has the thumbprint of RFC 7638 and its algorithms', async (_, jwk, algorithms) => {
    const thumbprint = await calculateJwkThumbprint(jwk)
    expect(parsePublicKey({ ...jwk, kid: 'a', use: 'sig' })).toMatchObject({ thumbprint, algorithms })
  })

  const secret = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const offCurve = { ...ec, y: Buffer.alloc(32, 1).toString('base64url') }
  test.each([
    ['a private key', secret, 'd'],
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }, 'k'],
    ['another type', { kty: 'AKP' }, 'kty'],
    ['another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }), 'crv'],
    ['an algorithm of another key type', { ...ec, alg: 'HS256' }, 'alg'],
    ['a point that is not on the curve', offCurve, 'x'],
    ['a missing coordinate', { ...ec, y: undefined }, 'y'],
    ['a second encoding of a coordinate', { ...ec, x: `${ec.x}=` }, 'x'],
    ['RSA with 1024 bits', rsa(1_024), 'n'],
    ['RSA with the exponent 3', rsa(2_048, 3), 'e'],
    ['a text', 'key', 'kty'],
  ])('refuses %s and names the member', (_, jwk, name) => {
    expect(parsePublicKey(jwk)).toMatchObject({ invalid: { name } })
  })
})
