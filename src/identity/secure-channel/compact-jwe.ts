import { createCipheriv, createDecipheriv } from 'node:crypto'
import { isRecord, parseStrictJson } from '../../kernel/index.ts'
import { decodeBase64url } from '../../platform/crypto/index.ts'

/** The decoded parts of a compact JWE (RFC 7516, section 7.1). `aad` is the encoded header, which GCM authenticates. */
export interface CompactJwe {
  header: Record<string, unknown>
  aad: Buffer
  encryptedKey: Buffer
  nonce: Buffer
  ciphertext: Buffer
  tag: Buffer
}

/** Headers of this protocol have up to six short members. */
const maxHeaderLength = 2_048
const nonceBytes = 12
const tagBytes = 16

/** Requires canonical base64url and the sizes of A256GCM. */
export function parseCompactJwe(text: string): CompactJwe | undefined {
  const parts = text.split('.', 6)
  if (parts.length !== 5 || (parts[0]?.length ?? 0) > maxHeaderLength) return undefined
  const [head, encryptedKey, nonce, ciphertext, tag] = parts.map(decodeBase64url)
  if (!head || !encryptedKey || !nonce || !ciphertext || !tag) return undefined
  if (nonce.length !== nonceBytes || tag.length !== tagBytes) return undefined
  const header = parseHeader(head)
  return header && { header, aad: Buffer.from(parts[0] ?? '', 'ascii'), encryptedKey, nonce, ciphertext, tag }
}

export function hasExactly(members: Record<string, unknown>, names: readonly string[]): boolean {
  return Object.keys(members).length === names.length && names.every((name) => Object.hasOwn(members, name))
}

/*
 * Direct encryption with A256GCM (RFC 7518, sections 4.5 and 5.3). node:crypto takes 4 µs where jose takes 35 µs. The
 * tests compare both directions with jose.
 */
const algorithm = 'aes-256-gcm'
const authTagLength = 16

/** Returns undefined if authentication fails. */
export function decryptDirect(jwe: CompactJwe, key: Uint8Array): Buffer | undefined {
  const decipher = createDecipheriv(algorithm, key, jwe.nonce, { authTagLength }).setAAD(jwe.aad).setAuthTag(jwe.tag)
  try {
    // For GCM, `final` only verifies the tag.
    const plaintext = decipher.update(jwe.ciphertext)
    decipher.final()
    return plaintext
  } catch {
    return undefined
  }
}

/** The nonce must be 12 new random bytes. */
export function encryptDirect(
  header: Record<string, string | number>,
  plaintext: string,
  key: Uint8Array,
  nonce: Uint8Array,
): string {
  const head = Buffer.from(JSON.stringify(header)).toString('base64url')
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength }).setAAD(Buffer.from(head, 'ascii'))
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
  return `${head}..${text(nonce)}.${text(body)}.${text(cipher.getAuthTag())}`
}

/** Rejects duplicate names, which RFC 7515, section 4, allows parsers to accept. */
function parseHeader(bytes: Buffer): Record<string, unknown> | undefined {
  const parsed = parseStrictJson(bytes, 1)
  const header = parsed.ok ? parsed.value : null
  return isRecord(header) ? header : undefined
}
