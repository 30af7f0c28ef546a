import { toBase64url } from '../channel/jwe.ts'
import type { ApiKeyPair, Settings } from '../options.ts'
import type { RequestSigner } from '../transport.ts'

/** RFC 7518, section 3.1, by the names of the Web Cryptography API. */
const algorithms: Readonly<
  Record<string, { alg: string; parameters: AlgorithmIdentifier | EcdsaParams | RsaPssParams }>
> = {
  ECDSA: { alg: 'ES256', parameters: { name: 'ECDSA', hash: 'SHA-256' } },
  Ed25519: { alg: 'EdDSA', parameters: 'Ed25519' },
  'RSA-PSS': { alg: 'PS256', parameters: { name: 'RSA-PSS', saltLength: 32 } },
  'RSASSA-PKCS1-v1_5': { alg: 'RS256', parameters: 'RSASSA-PKCS1-v1_5' },
}

/** Signs a JWT (RFC 7519). `header` lacks `alg`, which the key determines. */
export async function signJwt(key: CryptoKey, header: object, claims: object): Promise<string> {
  const algorithm = algorithms[key.algorithm.name]
  if (!algorithm) throw new TypeError(`a key for ${key.algorithm.name} cannot sign requests`)
  const signed = `${encode({ alg: algorithm.alg, ...header })}.${encode(claims)}`
  const signature = await crypto.subtle.sign(algorithm.parameters, key, new TextEncoder().encode(signed))
  return `${signed}.${toBase64url(new Uint8Array(signature))}`
}

/** Claims of a JWT for one request: its method, its URL without a query, its time, and an id. */
export function requestClaims({ method, url }: { method: string; url: string }, now: number) {
  const { origin, pathname } = new URL(url.replace(/^ws/i, 'http'), globalThis.location?.href)
  return { htm: method, htu: origin + pathname, iat: Math.floor(now / 1_000), jti: crypto.randomUUID() }
}

/** Signs each request as an API key. The base URL is the audience. */
export function signAs(
  { keyPrefix, privateKey }: ApiKeyPair,
  { baseUrl }: Pick<Settings, 'baseUrl'>,
  now: () => number,
): RequestSigner {
  const header = { typ: 'client-authentication+jwt' }
  return {
    sign: async ({ headers, ...request }) => {
      const claims = requestClaims(request, now())
      const named = { iss: keyPrefix, sub: keyPrefix, aud: baseUrl, exp: claims.iat + 60 }
      return { ...headers, authorization: `Bearer ${await signJwt(privateKey, header, { ...named, ...claims })}` }
    },
    learn: () => false,
  }
}

function encode(value: object): string {
  return toBase64url(new TextEncoder().encode(JSON.stringify(value)))
}
