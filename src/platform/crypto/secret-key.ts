import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import type { Randomness } from '../../kernel/index.ts'

const keyBytes = 32

/** Derives the key of each purpose from the deployment's 32-byte secret by HKDF-SHA-256 (RFC 5869). */
class DerivedKeys<Purpose extends string> {
  readonly #secretKey: Uint8Array
  readonly #use: 'digest' | 'box'
  readonly #keys = new Map<Purpose, Uint8Array>()

  /** `use` separates digests from encryption, so that they never share a key. */
  constructor(secretKey: Uint8Array, use: 'digest' | 'box') {
    this.#secretKey = secretKey
    this.#use = use
  }

  keyFor(purpose: Purpose): Uint8Array {
    const known = this.#keys.get(purpose)
    if (known) return known
    if (this.#secretKey.length !== keyBytes) throw new RangeError('the secret key must have 32 bytes')
    const key = new Uint8Array(hkdfSync('sha256', this.#secretKey, 'portico', `${this.#use}:${purpose}`, keyBytes))
    this.#keys.set(purpose, key)
    return key
  }
}

/** Digests values that are only compared (tokens, codes, addresses), so that a stolen database does not reveal them. */
export type KeyedDigest = (purpose: DigestPurpose, ...parts: string[]) => Uint8Array

/** The purposes are a closed set, so that a digest for one purpose never matches a digest for another one. */
export type DigestPurpose =
  | 'login-session'
  | 'one-time-code'
  | 'refresh-token'
  | 'client-hash'
  | 'login-failures'
  | 'mail-quota'
  | 'password-token'
  | 'backup-code'
  | 'api-key'
  | 'withdrawal-account'
  | 'withdrawal-channel-request'

/**
 * Returns an HMAC-SHA-256 (RFC 2104) with a key per purpose. The input includes the length of each part, so that moving
 * characters between parts changes the result.
 */
export const createKeyedDigest = (secretKey: Uint8Array): KeyedDigest => {
  const keys = new DerivedKeys<DigestPurpose>(secretKey, 'digest')
  return (purpose, ...parts) => {
    const hmac = createHmac('sha256', keys.keyFor(purpose))
    for (const part of parts) hmac.update(`${part.length}:`).update(part)
    return hmac.digest()
  }
}

/** Encryption at rest. A secret opens only with the purpose and the context (such as the row's id) it was sealed with. */
export interface SecretBox {
  seal(purpose: SecretPurpose, context: string, plaintext: Uint8Array): Uint8Array
  /** Throws unless the bytes were sealed with this purpose and context. */
  open(purpose: SecretPurpose, context: string, sealed: Uint8Array): Uint8Array
}

/** The purposes are a closed set, so that a typing error cannot create a new key. */
export type SecretPurpose =
  | 'signing-key'
  | 'channel-key'
  | 'channel-session'
  | 'refresh-successor'
  | 'otp-secret'
  | 'withdrawal-account'

/** The layout of a secret: version (1 byte), nonce (12 bytes), ciphertext, tag (16 bytes). */
const version = 1
const nonceBytes = 12
const tagBytes = 16

/** AES-256-GCM (NIST SP 800-38D) with a key per purpose and the context as additional authenticated data. */
export const createSecretBox = (secretKey: Uint8Array, randomness: Randomness): SecretBox => {
  const keys = new DerivedKeys<SecretPurpose>(secretKey, 'box')
  return {
    seal: (purpose, context, plaintext) => {
      const nonce = randomness.bytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', keys.keyFor(purpose), nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plaintext), cipher.final()])
      return Buffer.concat([Uint8Array.of(version), nonce, body, cipher.getAuthTag()])
    },
    open: (purpose, context, sealed) => {
      if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== version) throw new Error('not a sealed secret')
      const body = 1 + nonceBytes
      const decipher = createDecipheriv('aes-256-gcm', keys.keyFor(purpose), sealed.subarray(1, body), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(body, -tagBytes)), decipher.final()])
      } catch (cause) {
        // Operators see this message if they start with the wrong key.
        throw new Error(`a sealed ${purpose} does not open: PORTICO_SECRET_KEY differs, or the bytes were changed`, {
          cause,
        })
      }
    },
  }
}
