import { hkdfSync } from 'node:crypto'

const keyBytes = 32

/** Derives the key of one purpose from the deployment's 32-byte secret by HKDF-SHA-256 (RFC 5869). */
const deriveKey = (secretKey: Uint8Array, purpose: string): Uint8Array => {
  if (secretKey.length !== keyBytes) throw new RangeError('the secret key has 32 bytes')
  return new Uint8Array(hkdfSync('sha256', secretKey, 'portico', purpose, keyBytes))
}

/** Derives and caches the keys of one use. `use` separates the families: a box key is never a digest key. */
export const createKeyDerivation = (secretKey: Uint8Array, use: string): ((purpose: string) => Uint8Array) => {
  const keys = new Map<string, Uint8Array>()
  return (purpose) => {
    const known = keys.get(purpose)
    if (known) return known
    const key = deriveKey(secretKey, `${use}:${purpose}`)
    keys.set(purpose, key)
    return key
  }
}
