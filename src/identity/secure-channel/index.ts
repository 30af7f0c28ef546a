/*
 * The secure channel encrypts request and response bodies between client and gateway, in addition to TLS. A client opens a
 * channel session by a key exchange (key-exchange.ts) with a key that all replicas share (key-ring.ts). The session id
 * contains the encrypted session (session-id.ts); its replay window is in the cache (channel-sessions.ts). The pipeline opens
 * and seals bodies through the port in sealed-bodies.ts. Depends on the cache and on platform/crypto.
 */
import type { ChannelPort } from '../../gateway/pipeline/ports.ts'
import type { HandlerTable } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { ChannelSessions } from './channel-sessions.ts'
import { secureChannelHandlers } from './handlers.ts'
import { KeyExchangeReader } from './key-exchange.ts'
import { ChannelKeyRing } from './key-ring.ts'
import { createSealedBodies } from './sealed-bodies.ts'

/** The secure channel as identity uses it. */
export interface SecureChannel {
  port: ChannelPort
  handlers: HandlerTable
  /** Resolves once a key for opening sessions exists. */
  ready(): Promise<unknown>
}

/** Creates the secure channel. */
export const createSecureChannel = (
  ports: IdentityPorts,
  settings: IdentitySettings['secureChannel'],
): SecureChannel => {
  const keys = new ChannelKeyRing(ports, settings)
  const sessions = new ChannelSessions(ports, settings)
  const keyExchange = new KeyExchangeReader(keys, ports.clock, ports.randomness, settings.maxClockDifferenceMs)
  return {
    port: createSealedBodies(sessions, ports.randomness),
    handlers: secureChannelHandlers({ keys, sessions, keyExchange }),
    ready: () => keys.offered(),
  }
}
