import { createHandlerTable, type HandlerTable, Refusal, toIso } from '../../kernel/index.ts'
import type { ChannelSessions } from './channel-sessions.ts'
import * as contract from './contract.ts'
import type { ChannelKeyRing } from './key-ring.ts'
import type { openingReader } from './opening.ts'

/** The store knows milliseconds; the interface shows nanoseconds (interface.md 2.6). */
const withNanoseconds = (iso: string): string => iso.replace('Z', '000000Z')

export const secureChannelHandlers = (
  ring: ChannelKeyRing,
  sessions: ChannelSessions,
  readOpening: ReturnType<typeof openingReader>,
): HandlerTable =>
  createHandlerTable(contract, {
    readPublicKey: async () => {
      const key = await ring.offered()
      return {
        keyId: key.keyId,
        publicKey: Buffer.from(key.publicKey).toString('base64'),
        algorithm: 'RSA-OAEP-2048',
        keySize: 2048,
        createdAt: withNanoseconds(toIso(key.createdAt)),
        expiresAt: toIso(key.expiresAt),
      }
    },
    openSecureChannel: async ({ body, portal, clientHash }) => {
      const opening = await readOpening(body.payload, clientHash)
      // One answer for whatever is wrong, so that nothing can be learned by trying.
      if (!opening) throw new Refusal('SECURE_CHANNEL.INVALID_PAYLOAD')
      const { sessionId, createdAt, expiresAt } = await sessions.open({ portal, clientHash }, opening.key)
      const expiresIn = Math.floor((expiresAt - createdAt) / 1_000)
      return { sessionId, algorithm: 'A256GCM', expiresIn, createdAt: toIso(createdAt), expiresAt: toIso(expiresAt) }
    },
    closeSecureChannel: async ({ channelSessionId, portal, clientHash }) => {
      // The answer that was observed (interface.md 4.3); the gateway's table of observed errors declares it.
      if (channelSessionId === null) throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'no session is named' })
      await sessions.close(channelSessionId, { portal, clientHash })
      return null
    },
  })
