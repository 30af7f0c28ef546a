import { closeSecureChannel, openSecureChannel, readPublicKey } from '../../identity/secure-channel/contract.ts'
import type { OperationCaller } from '../operation-types.ts'
import { type Channel, createChannel } from './channel.ts'
import { encodeHeader, encryptParts, fromBase64, importSessionKey, toBase64url } from './jwe.ts'

/** What a session is opened with: completions.md, Secure channel. */
export interface KeyOffer {
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
export const wrapSessionKey = async ({ keyId, publicKey, clientHash, iat }: KeyOffer) => {
  const rsa = { name: 'RSA-OAEP', hash: 'SHA-256' }
  const wrapping = await crypto.subtle.importKey('spki', fromBase64(publicKey), rsa, false, ['encrypt'])
  const contentKey = random()
  const sessionKey = random()
  const head = encodeHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: keyId })
  const encryptedKey = toBase64url(new Uint8Array(await crypto.subtle.encrypt(rsa, wrapping, contentKey)))
  const text = JSON.stringify({ key: toBase64url(sessionKey), clientHash, iat })
  const payload = `${head}.${encryptedKey}.${await encryptParts(head, await importSessionKey(contentKey), text)}`
  return { payload, key: await importSessionKey(sessionKey) }
}

const requireCrypto = (): void => {
  if (crypto.subtle !== undefined) return
  const where = 'which a browser gives to pages of https and of localhost alone'
  throw new TypeError(`the secure channel needs crypto.subtle, ${where}; any other page does without by seal: 'none'`)
}

/** Opens a session: the gateway's key, a fresh session key under it. */
export const openChannel = async (
  calling: OperationCaller,
  clientHash: string,
  now: () => number,
): Promise<Channel> => {
  requireCrypto()
  const offered = await calling.answer(readPublicKey, {})
  const iat = Math.floor((offered.timestamp ?? now()) / 1_000)
  const { payload, key } = await wrapSessionKey({ ...offered.data, clientHash, iat })
  const { data } = await calling.answer(openSecureChannel, { body: { payload } })
  return createChannel({ sessionId: data.sessionId, clientHash, expiresAt: now() + data.expiresIn * 1_000 }, key)
}

export const closeChannel = async (calling: OperationCaller, { sessionId, clientHash }: Channel): Promise<void> => {
  const headers = { 'x-secure-channel-session-id': sessionId, 'x-client-hash': clientHash }
  await calling.answer(closeSecureChannel, { headers })
}
