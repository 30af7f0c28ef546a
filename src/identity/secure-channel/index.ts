import type { ChannelPort } from '../../gateway/pipeline/ports.ts'
import type { HandlerTable } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { createChannelSessions } from './channel-sessions.ts'
import { secureChannelHandlers } from './handlers.ts'
import { createChannelKeyRing } from './key-ring.ts'
import { openingReader } from './opening.ts'
import { createSealedBodies } from './sealed-bodies.ts'

export interface SecureChannel {
  port: ChannelPort
  handlers: HandlerTable
  /** There is a key to open sessions with. */
  ready(): Promise<unknown>
}

/** The secure channel: defence in depth under TLS (completions.md, Secure channel; hardening.md, rule 8). */
export const createSecureChannel = (
  ports: IdentityPorts,
  settings: IdentitySettings['secureChannel'],
): SecureChannel => {
  const ring = createChannelKeyRing(ports, settings)
  const sessions = createChannelSessions(ports, settings)
  return {
    port: createSealedBodies(sessions, ports.randomness),
    handlers: secureChannelHandlers(
      ring,
      sessions,
      openingReader(ring, ports.clock, ports.randomness, settings.openingMs),
    ),
    ready: ring.offered,
  }
}
