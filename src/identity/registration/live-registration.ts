import { type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import { findPreLogin, type PreLogin } from '../login/pre-login.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { IdentitySettings } from '../settings.ts'

/** A registration under way. */
export interface LiveRegistration extends Pick<PreLogin, 'digest' | 'code'> {
  email: string
  emailVerifiedAt: Instant | null
}

/** How accounts come about on a portal; AUTH.REGISTRATION_CLOSED where they do not come about by themselves. */
export const openRegistration = (portals: IdentitySettings['portals'], portal: Portal): 'open' | 'approval' => {
  const { selfRegistration } = portals[portal]
  if (selfRegistration === 'closed') throw new Refusal('AUTH.REGISTRATION_CLOSED')
  return selfRegistration
}

/** The registration that a session id names, for the client that began it. */
export const findRegistration = async (
  ports: IdentityPorts,
  facts: RequestContext,
  sessionId: string,
  now: Instant,
): Promise<LiveRegistration> => {
  const found = await findPreLogin(ports, facts, 'REGISTRATION', sessionId, now)
  const { email, emailVerifiedAt } = found.session
  if (email === null) throw sessionNotFound('a registration without an address')
  return { digest: found.digest, code: found.code, email, emailVerifiedAt }
}
