import { type Instant, type Portal, Refusal, type RequestFacts } from '../../kernel/index.ts'
import type { CodeOwner } from '../login/code-store.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { IdentitySettings } from '../settings.ts'
import { isOpaqueToken } from '../tokens/opaque-token.ts'
import { type Registration, readRegistration } from './store.ts'

export interface LiveRegistration extends Registration {
  digest: Uint8Array
  code: CodeOwner
}

/** How accounts come about on a portal; AUTH.REGISTRATION_CLOSED where they do not come about by themselves. */
export const openRegistration = (portals: IdentitySettings['portals'], portal: Portal): 'open' | 'approval' => {
  const { selfRegistration } = portals[portal]
  if (selfRegistration === 'closed') throw new Refusal('AUTH.REGISTRATION_CLOSED')
  return selfRegistration
}

/** What a mailed code is for, by the digest of the registration's session id. */
export const registrationCode = (portal: Portal, digest: Uint8Array): CodeOwner => ({
  portal,
  owner: Buffer.from(digest).toString('base64url'),
  purpose: 'REGISTRATION',
})

/** The registration that a session id names, for the client that began it. */
export const findRegistration = async (
  { database, digest }: IdentityPorts,
  facts: RequestFacts,
  sessionId: string,
  now: Instant,
): Promise<LiveRegistration> => {
  const { portal, clientHash } = facts
  if (!isOpaqueToken(sessionId)) throw sessionNotFound('no session id of ours')
  const token = digest('login-session', sessionId)
  const registration = await readRegistration(database, portal, token, now)
  if (!registration) throw sessionNotFound('no such registration under way')
  if (Buffer.compare(registration.clientDigest, digest('client-hash', clientHash)) !== 0)
    throw new Refusal('AUTH.CLIENT_MISMATCH')
  return { ...registration, digest: token, code: registrationCode(portal, token) }
}
