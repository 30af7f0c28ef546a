import { hkdfSync } from 'node:crypto'

const keyBytes = 32

/** A key of its own for one purpose, by HKDF-SHA-256 (RFC 5869) from the deployment's 32-byte secret. */
const deriveKey = (secretKey: Uint8Array, purpose: string): Uint8Array => {
  if (secretKey.length !== keyBytes) throw new RangeError('the secret key has 32 bytes')
  return new Uint8Array(hkdfSync('sha256', secretKey, 'portico', purpose, keyBytes))
}

/** The derived keys of one use, made once each. `use` keeps the families apart: box keys are never digest keys. */
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
