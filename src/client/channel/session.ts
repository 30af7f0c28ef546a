import { closeSecureChannel, openSecureChannel, readPublicKey } from '../../identity/secure-channel/contract.ts'
import type { Calling } from '../calling.ts'
import { type Channel, createChannel } from './channel.ts'
import { propose } from './opening.ts'

const requireCrypto = (): void => {
  if (crypto.subtle !== undefined) return
  const where = 'which a browser gives to pages of https and of localhost alone'
  throw new TypeError(`the secure channel needs crypto.subtle, ${where}; any other page does without by seal: 'none'`)
}

/** Opens a session: the gateway's key, a fresh session key under it. */
export const openSession = async (calling: Calling, clientHash: string, now: () => number): Promise<Channel> => {
  requireCrypto()
  const offered = await calling.answer(readPublicKey, {})
  const iat = Math.floor((offered.timestamp ?? now()) / 1_000)
  const { payload, key } = await propose({ ...offered.data, clientHash, iat })
  const { data } = await calling.answer(openSecureChannel, { body: { payload } })
  return createChannel({ sessionId: data.sessionId, clientHash, expiresAt: now() + data.expiresIn * 1_000 }, key)
}

export const closeSession = async (calling: Calling, { sessionId, clientHash }: Channel): Promise<void> => {
  const headers = { 'x-secure-channel-session-id': sessionId, 'x-client-hash': clientHash }
  await calling.answer(closeSecureChannel, { headers })
}
