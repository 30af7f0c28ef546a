import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { CompactJwe } from './compact-jwe.ts'

/*
 * Direct encryption with A256GCM (RFC 7518, sections 4.5 and 5.3) by node:crypto: 4 µs where jose takes 35.
 * The tests check it against jose in both directions.
 */
const algorithm = 'aes-256-gcm'
const authTagLength = 16

/** Returns the plaintext; undefined if the key or any byte is wrong. */
export const decryptDirect = (jwe: CompactJwe, key: Uint8Array): Buffer | undefined => {
  const decipher = createDecipheriv(algorithm, key, jwe.nonce, { authTagLength }).setAAD(jwe.aad).setAuthTag(jwe.tag)
  try {
    // GCM is a stream cipher: `final` returns nothing and only compares the tag.
    const plaintext = decipher.update(jwe.ciphertext)
    decipher.final()
    return plaintext
  } catch {
    return undefined
  }
}

/** Returns a compact JWE. The nonce must be 12 fresh random bytes. */
export const encryptDirect = (
  header: Record<string, string | number>,
  plaintext: string,
  key: Uint8Array,
  nonce: Uint8Array,
): string => {
  const head = Buffer.from(JSON.stringify(header)).toString('base64url')
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength }).setAAD(Buffer.from(head, 'ascii'))
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
  return `${head}..${text(nonce)}.${text(body)}.${text(cipher.getAuthTag())}`
}
