/*
 * Encrypts bodies between client and gateway, in addition to TLS. A client opens a channel session with a key exchange
 * (key-exchange.ts), for which all replicas share key pairs (key-ring.ts). The session id contains the encrypted
 * session (session-id.ts), and the cache its replay window (channel-sessions.ts). The pipeline uses the port in
 * sealed-bodies.ts. Depends on the cache and on platform/crypto.
 */
import type { ChannelPort } from '../../gateway/pipeline/ports.ts'
import { createFairLimiter, type HandlerTable } from '../../kernel/index.ts'
import type { KnownNetworks } from '../login/known-networks.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { ChannelSessions } from './channel-sessions.ts'
import { secureChannelHandlers } from './handlers.ts'
import { KeyExchangeReader } from './key-exchange.ts'
import { ChannelKeyRing } from './key-ring.ts'
import { createSealedBodies } from './sealed-bodies.ts'

export interface SecureChannel {
  port: ChannelPort
  handlers: HandlerTable
  ready(): Promise<unknown>
}

/** An RSA decryption takes 0.6 ms of one of Node's four threads. Two leave the others to passwords and files. */
const decryptions = { concurrency: 2, waiting: 500 }

export function createSecureChannel(
  ports: IdentityPorts & { networks: KnownNetworks },
  settings: IdentitySettings['secureChannel'],
): SecureChannel {
  const keys = new ChannelKeyRing(ports, settings)
  const sessions = new ChannelSessions(ports, settings)
  const keyExchange = new KeyExchangeReader(keys, ports.clock, ports.randomness, settings.maxClockDifferenceMs)
  return {
    port: createSealedBodies(sessions, ports.randomness),
    handlers: secureChannelHandlers({
      ...ports,
      keys,
      sessions,
      keyExchange,
      openings: createFairLimiter(decryptions),
    }),
    ready: () => keys.offered(),
  }
}
