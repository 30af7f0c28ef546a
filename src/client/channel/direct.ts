import { fromBase64, toBase64url, utf8 } from './base64.ts'

/*
 * Compact JWE with direct encryption, A256GCM (RFC 7518, sections 4.5 and 5.3), by WebCrypto. The tests hold it
 * against jose both ways.
 */
const nonceBytes = 12
const tagBytes = 16

export type JweHeader = Record<string, string | number>

export const importSessionKey = (key: Uint8Array<ArrayBuffer>): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt'])

/** The last three parts of a compact JWE: nonce, ciphertext and tag, with the header part authenticated. */
export const encryptParts = async (head: string, key: CryptoKey, text: string): Promise<string> => {
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: utf8(head) }, key, utf8(text))
  const bytes = new Uint8Array(sealed)
  const end = bytes.length - tagBytes
  return [iv, bytes.subarray(0, end), bytes.subarray(end)].map(toBase64url).join('.')
}

export const headOf = (header: JweHeader): string => toBase64url(utf8(JSON.stringify(header)))

export const sealDirect = async (header: JweHeader, key: CryptoKey, text: string): Promise<string> => {
  const head = headOf(header)
  return `${head}..${await encryptParts(head, key, text)}`
}

/** What a compact JWE says of itself, authenticated, and its text. Throws for whatever the key does not open. */
export const openDirect = async (compact: string, key: CryptoKey): Promise<{ header: unknown; text: string }> => {
  const [head = '', encryptedKey, nonce = '', ciphertext = '', tag = '', ...rest] = compact.split('.')
  if (encryptedKey !== '' || rest.length > 0) throw new TypeError('no compact JWE with direct encryption')
  const body = fromBase64(ciphertext)
  const mark = fromBase64(tag)
  if (mark.length !== tagBytes) throw new TypeError('a tag of another length')
  const sealed = new Uint8Array(body.length + tagBytes)
  sealed.set(body)
  sealed.set(mark, body.length)
  const gcm = { name: 'AES-GCM', iv: fromBase64(nonce), additionalData: utf8(head) }
  const plain = await crypto.subtle.decrypt(gcm, key, sealed)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return { header: JSON.parse(decoder.decode(fromBase64(head))), text: decoder.decode(plain) }
}
