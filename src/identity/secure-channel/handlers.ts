import { createHandlerTable, type HandlerTable, Refusal } from '../../kernel/index.ts'

import type { ChannelSessions } from './channel-sessions.ts'
import * as contract from './contract.ts'
import type { KeyExchangeReader } from './key-exchange.ts'
import type { ChannelKeyRing } from './key-ring.ts'
import { toChannelSessionView, toPublicKeyView } from './view.ts'

interface ChannelServices {
  keys: ChannelKeyRing
  sessions: ChannelSessions
  keyExchange: KeyExchangeReader
}

/** Opens and closes channel sessions. */
export const secureChannelHandlers = ({ keys, sessions, keyExchange }: ChannelServices): HandlerTable =>
  createHandlerTable(contract, {
    readPublicKey: async () => toPublicKeyView(await keys.offered()),
    openSecureChannel: async ({ body, portal, clientHash }) => {
      const sessionKey = await keyExchange.read(body.payload, clientHash)
      // One refusal for everything that is wrong, so that nothing can be learned by trying.
      if (!sessionKey) throw new Refusal('SECURE_CHANNEL.INVALID_PAYLOAD')
      return toChannelSessionView(await sessions.open({ portal, clientHash }, sessionKey))
    },
    closeSecureChannel: async ({ channelSessionId, portal, clientHash }) => {
      // The observed response; the gateway's table of observed errors declares it.
      if (channelSessionId === null) throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'no session is named' })
      await sessions.close(channelSessionId, { portal, clientHash })
      return null
    },
  })
