import type { closeSecureChannel, openSecureChannel, readPublicKey } from '../../identity/secure-channel/contract.ts'
import type { OperationCaller } from '../operation-types.ts'
import { type Channel, type ChannelCache, createChannel, createChannelCache } from './channel.ts'
import { encodeHeader, encryptParts, fromBase64, importSessionKey, toBase64url } from './jwe.ts'

/** See docs/reference/secure-channel.md. */
export interface KeyOffer {
  keyId: string
  /** SubjectPublicKeyInfo (DER) in base64. */
  publicKey: string
  clientHash: string
  /** Epoch seconds by the gateway's clock. */
  iat: number
}

interface ChannelOperations {
  readPublicKey: typeof readPublicKey
  openSecureChannel: typeof openSecureChannel
  closeSecureChannel: typeof closeSecureChannel
}

export type ChannelFeature = (caller: OperationCaller, now: () => number) => ChannelCache & { close(): Promise<void> }

export function createSecureChannel(operations: ChannelOperations): ChannelFeature {
  return (caller, now) => {
    const cache = createChannelCache((hash) => openChannel(operations, caller, hash, now), now)
    const close = async () => {
      const channel = await cache.take()
      if (channel) await closeChannel(operations, caller, channel)
    }
    return { ...cache, close }
  }
}

const keyBytes = 32

/** The compact JWE uses RSA-OAEP-256 and A256GCM. */
export async function wrapSessionKey({ keyId, publicKey, clientHash, iat }: KeyOffer) {
  const rsa = { name: 'RSA-OAEP', hash: 'SHA-256' }
  const wrappingKey = await crypto.subtle.importKey('spki', fromBase64(publicKey), rsa, false, ['encrypt'])
  const contentKey = randomKey()
  const sessionKey = randomKey()
  const header = encodeHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: keyId })
  const encryptedKey = toBase64url(new Uint8Array(await crypto.subtle.encrypt(rsa, wrappingKey, contentKey)))
  const text = JSON.stringify({ key: toBase64url(sessionKey), clientHash, iat })
  const payload = `${header}.${encryptedKey}.${await encryptParts(header, await importSessionKey(contentKey), text)}`
  return { payload, key: await importSessionKey(sessionKey) }
}

async function openChannel(
  { readPublicKey, openSecureChannel }: ChannelOperations,
  caller: OperationCaller,
  clientHash: string,
  now: () => number,
): Promise<Channel> {
  assertWebCrypto()
  const offer = await caller.answer(readPublicKey, {})
  const iat = Math.floor((offer.timestamp ?? now()) / 1_000)
  const { payload, key } = await wrapSessionKey({ ...offer.data, clientHash, iat })
  const { data } = await caller.answer(openSecureChannel, { body: { payload } })
  return createChannel({ sessionId: data.sessionId, clientHash, expiresAt: now() + data.expiresIn * 1_000 }, key)
}

async function closeChannel(
  { closeSecureChannel }: ChannelOperations,
  caller: OperationCaller,
  { sessionId, clientHash }: Channel,
): Promise<void> {
  const headers = { 'x-secure-channel-session-id': sessionId, 'x-client-hash': clientHash }
  await caller.answer(closeSecureChannel, { headers })
}

function randomKey(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(keyBytes))
}

function assertWebCrypto(): void {
  if (crypto.subtle !== undefined) return
  const where = 'which browsers provide on https and localhost pages only'
  throw new TypeError(`the secure channel needs crypto.subtle, ${where}; disable it on other pages by seal: 'none'`)
}
