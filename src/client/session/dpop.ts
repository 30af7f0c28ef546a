import { fromBase64, toBase64url } from '../channel/jwe.ts'
import type { RequestSigner, SignableRequest } from '../transport.ts'
import { requestClaims, signJwt } from './signed-jwt.ts'

/** The difference between two clocks that counts as an error of this one. */
const toleratedMs = 5_000

/**
 * Signs each request with a key of this client, to which the gateway binds the session (RFC 9449). In browsers, the key is in
 * IndexedDB under `name`, and no script can read it. Elsewhere, it is in memory.
 */
export function createDpop(name: string, now: () => number): RequestSigner {
  const pair = loadPair(name)
  // The clock of a user's device is often wrong.
  let offset = 0
  return {
    sign: async ({ headers, ...request }) => {
      const { privateKey, publicKey } = await pair
      const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
      const token = bearerOf(headers)
      const claims = { ...requestClaims(request, now() + offset), ...(token !== null && { ath: await hashOf(token) }) }
      const dpop = await signJwt(privateKey, { typ: 'dpop+jwt', jwk: { kty, crv, x, y } }, claims)
      // A session from before this option is not bound to a key.
      const scheme = token !== null && isBound(token) ? { authorization: `DPoP ${token}` } : {}
      return { ...headers, ...scheme, dpop }
    },
    learn: (response) => {
      const difference = Date.parse(response.headers.get('date') ?? '') - now()
      if (!Number.isFinite(difference) || Math.abs(difference - offset) <= toleratedMs) return false
      offset = difference
      return true
    },
  }
}

function bearerOf({ authorization }: SignableRequest['headers']): string | null {
  return authorization?.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : null
}

async function hashOf(token: string): Promise<string> {
  return toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))))
}

/** Whether the token has the claim `cnf`. */
function isBound(token: string): boolean {
  try {
    return 'cnf' in JSON.parse(new TextDecoder().decode(fromBase64(token.split('.')[1] ?? '')))
  } catch {
    return false
  }
}

async function loadPair(name: string): Promise<CryptoKeyPair> {
  const created = crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify'])
  try {
    return typeof indexedDB === 'undefined' ? await created : await storedPair(name, await created)
  } catch {
    // Some browsers forbid the database in a private window.
    return created
  }
}

/** All tabs use the pair that was stored first. */
async function storedPair(name: string, created: CryptoKeyPair): Promise<CryptoKeyPair> {
  const opening = indexedDB.open('portico', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('keys')
  const database = await resultOf(opening)
  try {
    const keys = database.transaction('keys', 'readwrite').objectStore('keys')
    const stored: CryptoKeyPair | undefined = await resultOf(keys.get(name))
    if (!stored) await resultOf(keys.put(created, name))
    return stored ?? created
  } finally {
    database.close()
  }
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
