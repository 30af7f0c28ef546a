import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Randomness } from '../../kernel/index.ts'

const keyBytes = 32
const keyIdBytes = 4

/** One key per purpose, by HKDF-SHA-256 (RFC 5869). */
class SecretKey<Purpose extends string> {
  /** Stored with every value of this key. It does not reveal the key. */
  readonly id: Buffer
  readonly #secretKey: Uint8Array
  readonly #use: 'digest' | 'box'
  readonly #keys = new Map<Purpose, Uint8Array>()

  /** `use` separates digests from encryption, so that they never share a key. */
  constructor(secretKey: Uint8Array, use: 'digest' | 'box') {
    if (secretKey.length !== keyBytes) throw new RangeError('the secret key must have 32 bytes')
    this.id = Buffer.from(derive(secretKey, 'key-id', keyIdBytes))
    this.#secretKey = secretKey
    this.#use = use
  }

  keyFor(purpose: Purpose): Uint8Array {
    const known = this.#keys.get(purpose)
    if (known) return known
    const key = derive(this.#secretKey, `${this.#use}:${purpose}`, keyBytes)
    this.#keys.set(purpose, key)
    return key
  }
}

export interface SecretKeys {
  current: Uint8Array
  previous: readonly Uint8Array[]
}

export function secretKeyId(secretKey: Uint8Array): Uint8Array {
  return new SecretKey(secretKey, 'box').id
}

/** Digests values that are only compared (tokens, codes, addresses), so that a stolen database does not reveal them. */
export interface KeyedDigest {
  /** Uses the current key. */
  (purpose: DigestPurpose, ...parts: string[]): Uint8Array
  /** For lookups: the digest under the current key, then those under the previous keys. */
  candidates(purpose: DigestPurpose, ...parts: string[]): [Uint8Array, ...Uint8Array[]]
  /** Accepts digests under the current or a previous key. */
  matches(stored: Uint8Array, purpose: DigestPurpose, ...parts: string[]): boolean
  /** Whether the digest was made with the current key. */
  isCurrent(stored: Uint8Array): boolean
}

/** A closed set, so that a digest never matches one for another purpose. */
export type DigestPurpose =
  | 'login-session'
  | 'one-time-code'
  | 'refresh-token'
  | 'client-hash'
  | 'login-failures'
  | 'mail-quota'
  | 'password-token'
  | 'session-cookie'
  | 'session-ticket'
  | 'passkey-challenge'
  | 'provider-attempt'
  | 'provider-state'
  | 'backup-code'
  | 'api-key'
  | 'withdrawal-account'
  | 'withdrawal-channel-request'

/**
 * The id of the secret key, then an HMAC-SHA-256 (RFC 2104). The input includes the length of each part, so that moving
 * characters between parts changes the result.
 */
export function createKeyedDigest({ current, previous }: SecretKeys): KeyedDigest {
  const newest = new SecretKey<DigestPurpose>(current, 'digest')
  const older = previous.map((each) => new SecretKey<DigestPurpose>(each, 'digest'))
  const under = (key: SecretKey<DigestPurpose>, purpose: DigestPurpose, parts: string[]): Uint8Array => {
    const hmac = createHmac('sha256', key.keyFor(purpose))
    for (const part of parts) hmac.update(`${part.length}:`).update(part)
    return Buffer.concat([key.id, hmac.digest()])
  }
  const digest = (purpose: DigestPurpose, ...parts: string[]): Uint8Array => under(newest, purpose, parts)
  const candidates: KeyedDigest['candidates'] = (purpose, ...parts) => [
    under(newest, purpose, parts),
    ...older.map((key) => under(key, purpose, parts)),
  ]
  return Object.assign(digest, {
    candidates,
    matches: (stored: Uint8Array, purpose: DigestPurpose, ...parts: string[]) =>
      candidates(purpose, ...parts).some((candidate) => isEqual(candidate, stored)),
    isCurrent: (stored: Uint8Array) => isEqual(stored.subarray(0, keyIdBytes), newest.id),
  })
}

export class UnopenableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UnopenableError'
  }
}

/** A secret can be opened only with the purpose and the context (such as the row's id) it was sealed with. */
export interface SecretBox {
  /** Uses the current key. */
  seal(purpose: SecretPurpose, context: string, plaintext: Uint8Array): Uint8Array
  /** Accepts the current and previous keys. Throws for another purpose or context. */
  open(purpose: SecretPurpose, context: string, sealed: Uint8Array): Uint8Array
}

/** A closed set, so that a typing error cannot create a new key. */
export type SecretPurpose =
  | 'signing-key'
  | 'channel-key'
  | 'channel-session'
  | 'refresh-successor'
  | 'otp-secret'
  | 'shown-secret'
  | 'provider-attempt'
  | 'provider-token'
  | 'withdrawal-account'
  | 'webhook-secret'

/** Layout: version (1 byte), key id (4 bytes), nonce (12 bytes), ciphertext, tag (16 bytes). */
const version = 1
const nonceBytes = 12
const tagBytes = 16
const headerBytes = 1 + keyIdBytes

export const sealedOverhead = headerBytes + nonceBytes + tagBytes

/** Counted from 1, as in SQL. */
export const keyIdPosition = { sealed: 2, digest: 1, length: keyIdBytes } as const

/** AES-256-GCM (NIST SP 800-38D). The header and the context are additional authenticated data. */
export function createSecretBox({ current, previous }: SecretKeys, randomness: Randomness): SecretBox {
  const newest = new SecretKey<SecretPurpose>(current, 'box')
  const keys = [newest, ...previous.map((each) => new SecretKey<SecretPurpose>(each, 'box'))]
  const associatedData = (keyId: Uint8Array, context: string): Buffer =>
    Buffer.concat([Uint8Array.of(version), keyId, Buffer.from(context)])
  return {
    seal: (purpose, context, plaintext) => {
      const nonce = randomness.bytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', newest.keyFor(purpose), nonce)
      cipher.setAAD(associatedData(newest.id, context))
      const body = Buffer.concat([cipher.update(plaintext), cipher.final()])
      return Buffer.concat([Uint8Array.of(version), newest.id, nonce, body, cipher.getAuthTag()])
    },
    open: (purpose, context, sealed) => {
      if (sealed.length < sealedOverhead || sealed[0] !== version)
        throw new UnopenableError(`a sealed ${purpose} has another format`)
      const keyId = Buffer.from(sealed.subarray(1, headerBytes))
      const key = keys.find(({ id }) => id.equals(keyId))
      if (!key) {
        const hex = keyId.toString('hex')
        throw new UnopenableError(
          `a sealed ${purpose} has the key id ${hex}: neither PORTICO_SECRET_KEY nor PORTICO_SECRET_KEY_PREVIOUS has it`,
        )
      }
      const body = headerBytes + nonceBytes
      const decipher = createDecipheriv('aes-256-gcm', key.keyFor(purpose), sealed.subarray(headerBytes, body), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(associatedData(key.id, context)).setAuthTag(sealed.subarray(-tagBytes))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(body, -tagBytes)), decipher.final()])
      } catch (cause) {
        throw new UnopenableError(`a sealed ${purpose} does not open: its bytes or its context were changed`, { cause })
      }
    },
  }
}

function derive(secretKey: Uint8Array, info: string, length: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretKey, 'portico', info, length))
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
