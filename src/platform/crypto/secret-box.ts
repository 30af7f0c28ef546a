import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Randomness } from '../../kernel/index.ts'
import { createKeyDerivation } from './key-derivation.ts'

/** Encryption at rest. A secret opens only with the purpose and the context (such as the row's id) it was sealed with. */
export interface SecretBox {
  seal(purpose: SecretPurpose, context: string, plaintext: Uint8Array): Uint8Array
  /** Throws unless the bytes were sealed with this purpose and context. */
  open(purpose: SecretPurpose, context: string, sealed: Uint8Array): Uint8Array
}

/** A closed set, so that a typing error cannot create a key. */
export type SecretPurpose =
  | 'signing-key'
  | 'channel-key'
  | 'channel-session'
  | 'refresh-successor'
  | 'otp-secret'
  | 'withdrawal-account'

/** Layout: version 1 (1 byte), nonce (12), ciphertext, tag (16). */
const version = 1
const nonceBytes = 12
const tagBytes = 16

/** AES-256-GCM (NIST SP 800-38D) with a key per purpose and the context as additional authenticated data. */
export const createSecretBox = (secretKey: Uint8Array, randomness: Randomness): SecretBox => {
  const keyOf = createKeyDerivation(secretKey, 'box')
  return {
    seal: (purpose, context, plaintext) => {
      const nonce = randomness.bytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', keyOf(purpose), nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plaintext), cipher.final()])
      return Buffer.concat([Uint8Array.of(version), nonce, body, cipher.getAuthTag()])
    },
    open: (purpose, context, sealed) => {
      if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== version) throw new Error('no sealed secret')
      const body = 1 + nonceBytes
      const decipher = createDecipheriv('aes-256-gcm', keyOf(purpose), sealed.subarray(1, body), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(body, -tagBytes)), decipher.final()])
      } catch (cause) {
        // An operator sees this when starting with the wrong key.
        throw new Error(`a sealed ${purpose} does not open: it is of another PORTICO_SECRET_KEY, or was changed`, {
          cause,
        })
      }
    },
  }
}
