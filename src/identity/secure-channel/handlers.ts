import {
  createHandlerTable,
  type FairLimiter,
  type HandlerTable,
  type Instant,
  Refusal,
  toIso,
} from '../../kernel/index.ts'
import { networkKey } from '../../platform/limits/index.ts'
import type { KnownNetworks } from '../login/known-networks.ts'
import type { IdentityPorts } from '../ports.ts'
import type { ChannelSessions } from './channel-sessions.ts'
import * as contract from './contract.ts'
import type { KeyExchangeReader } from './key-exchange.ts'
import type { ChannelKey, ChannelKeyRing } from './key-ring.ts'

interface ChannelServices extends Pick<IdentityPorts, 'countOpening'> {
  networks: KnownNetworks
  openings: FairLimiter
  keys: ChannelKeyRing
  sessions: ChannelSessions
  keyExchange: KeyExchangeReader
}

export function secureChannelHandlers({
  keys,
  sessions,
  keyExchange,
  countOpening,
  networks,
  openings,
}: ChannelServices): HandlerTable {
  return createHandlerTable(contract, {
    readPublicKey: async () => toPublicKeyView(await keys.offered()),
    openSecureChannel: async ({ body, portal, clientHash, clientIp }) => {
      const sessionKey = await openings.runLimited(() => keyExchange.read(body.payload, clientHash), {
        network: networkKey(clientIp),
        isKnown: () => networks.has(clientIp),
      })
      // The same refusal for every error reveals nothing about the key.
      if (!sessionKey) throw new Refusal('SECURE_CHANNEL.INVALID_PAYLOAD')
      await countOpening(portal)
      return toChannelSessionView(await sessions.open({ portal, clientHash }, sessionKey))
    },
    closeSecureChannel: async ({ channelSessionId, portal, clientHash }) => {
      // Existing clients expect this response. See `observedErrors` in src/contract/observed-errors.ts.
      if (channelSessionId === null)
        throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'the request names no channel session' })
      await sessions.close(channelSessionId, { portal, clientHash })
      return null
    },
  })
}

function toPublicKeyView({ keyId, publicKey, createdAt, expiresAt }: ChannelKey) {
  return {
    keyId,
    publicKey: Buffer.from(publicKey).toString('base64'),
    algorithm: 'RSA-OAEP-2048' as const,
    keySize: 2048 as const,
    createdAt: withNanoseconds(toIso(createdAt)),
    expiresAt: toIso(expiresAt),
  }
}

/** Pads the milliseconds of an `Instant` with zeros to nanoseconds, which the contract requires. */
function withNanoseconds(iso: string): string {
  return iso.replace('Z', '000000Z')
}

function toChannelSessionView({
  sessionId,
  createdAt,
  expiresAt,
}: {
  sessionId: string
  createdAt: Instant
  expiresAt: Instant
}) {
  return {
    sessionId,
    algorithm: 'A256GCM' as const,
    expiresIn: Math.floor((expiresAt - createdAt) / 1_000),
    createdAt: toIso(createdAt),
    expiresAt: toIso(expiresAt),
  }
}
