/* Compact JWE with direct encryption and A256GCM (RFC 7518, 4.5 and 5.3), for browsers and Node. */
const nonceBytes = 12
const tagBytes = 16

/** String.fromCharCode accepts a limited number of arguments. */
const chunkBytes = 8_192

export function toBase64url(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += chunkBytes)
    binary += String.fromCharCode(...bytes.subarray(at, at + chunkBytes))
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Accepts base64 and base64url. Throws for other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (char) => char.charCodeAt(0))
}

export type JweHeader = Record<string, string | number>

export function importSessionKey(key: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt'])
}

/** Authenticates the encoded header. */
export async function encryptParts(encodedHeader: string, key: CryptoKey, text: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const algorithm = { name: 'AES-GCM', iv, additionalData: utf8(encodedHeader) }
  const encrypted = new Uint8Array(await crypto.subtle.encrypt(algorithm, key, utf8(text)))
  const end = encrypted.length - tagBytes
  return [iv, encrypted.subarray(0, end), encrypted.subarray(end)].map(toBase64url).join('.')
}

export function encodeHeader(header: JweHeader): string {
  return toBase64url(utf8(JSON.stringify(header)))
}

export async function encryptJwe(header: JweHeader, key: CryptoKey, text: string): Promise<string> {
  const encodedHeader = encodeHeader(header)
  return `${encodedHeader}..${await encryptParts(encodedHeader, key, text)}`
}

/** Throws if the text is malformed or the key does not decrypt it. */
export async function decryptJwe(compact: string, key: CryptoKey): Promise<{ header: unknown; text: string }> {
  const [encodedHeader = '', encryptedKey, nonce = '', ciphertext = '', tag = '', ...rest] = compact.split('.')
  if (encryptedKey !== '' || rest.length > 0) throw new TypeError('not a compact JWE with direct encryption')
  const body = fromBase64(ciphertext)
  const tagPart = fromBase64(tag)
  if (tagPart.length !== tagBytes) throw new TypeError('the authentication tag has the wrong length')
  const encrypted = new Uint8Array(body.length + tagBytes)
  encrypted.set(body)
  encrypted.set(tagPart, body.length)
  const algorithm = { name: 'AES-GCM', iv: fromBase64(nonce), additionalData: utf8(encodedHeader) }
  const plain = await crypto.subtle.decrypt(algorithm, key, encrypted)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return { header: JSON.parse(decoder.decode(fromBase64(encodedHeader))), text: decoder.decode(plain) }
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
