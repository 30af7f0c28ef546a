import { hash, type KeyObject, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export interface SigningPair {
  alg: string
  privateKey: CryptoKey | KeyObject
  publicKey: JWK & { kty: string }
}

export async function signingPair(alg = 'ES256', options = {}): Promise<SigningPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true, ...options })
  return { alg, privateKey, publicKey: { kty: '', ...(await exportJWK(publicKey)) } }
}

export interface SignedClaims {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  /** Epoch milliseconds. */
  at?: number
}

/** An assertion of an API key, for one request. Members of `claims` and `header` replace its own. */
export function assertionOf(
  { alg, privateKey }: SigningPair,
  { prefix, audience, method, url }: { prefix: string; audience: string; method: string; url: string },
  { claims, header, at = Date.now() }: SignedClaims = {},
): Promise<string> {
  const iat = Math.floor(at / 1_000)
  const own = { iss: prefix, sub: prefix, aud: audience, htm: method, htu: url, iat, exp: iat + 60, jti: randomUUID() }
  return new SignJWT({ ...own, ...claims })
    .setProtectedHeader({ alg, typ: 'client-authentication+jwt', ...header })
    .sign(privateKey)
}

/** A DPoP proof (RFC 9449), about an access token if there is one. */
export function dpopOf(
  { alg, privateKey, publicKey: jwk }: SigningPair,
  { method, url, token }: { method: string; url: string; token?: string | undefined },
  { claims, header, at = Date.now() }: SignedClaims = {},
): Promise<string> {
  const ath = token === undefined ? {} : { ath: hash('sha256', token, 'base64url') }
  const own = { htm: method, htu: url, iat: Math.floor(at / 1_000), jti: randomUUID(), ...ath }
  return new SignJWT({ ...own, ...claims })
    .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header })
    .sign(privateKey)
}
