import { fromBase64, toBase64url } from './base64.ts'
import { encryptParts, headOf, importSessionKey } from './direct.ts'

/** What a session is opened with: completions.md, Secure channel. */
export interface Proposal {
  keyId: string
  /** base64 of the SubjectPublicKeyInfo DER. */
  publicKey: string
  clientHash: string
  /** Epoch seconds by the gateway's clock, which alone judges it. */
  iat: number
}

const keyBytes = 32
const random = (): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(keyBytes))

/** A fresh session key, and the compact JWE (RSA-OAEP-256, A256GCM) that brings it to the gateway. */
export const propose = async ({ keyId, publicKey, clientHash, iat }: Proposal) => {
  const rsa = { name: 'RSA-OAEP', hash: 'SHA-256' }
  const wrapping = await crypto.subtle.importKey('spki', fromBase64(publicKey), rsa, false, ['encrypt'])
  const contentKey = random()
  const sessionKey = random()
  const head = headOf({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: keyId })
  const encryptedKey = toBase64url(new Uint8Array(await crypto.subtle.encrypt(rsa, wrapping, contentKey)))
  const text = JSON.stringify({ key: toBase64url(sessionKey), clientHash, iat })
  const payload = `${head}.${encryptedKey}.${await encryptParts(head, await importSessionKey(contentKey), text)}`
  return { payload, key: await importSessionKey(sessionKey) }
}
