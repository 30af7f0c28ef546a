import { type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import { findAttempt, type PendingAttempt } from '../attempts/service.ts'
import type { Lockout } from '../lockout/service.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { sessionNotFound } from '../tokens/opaque-token.ts'

export interface RegistrationPorts extends IdentityPorts {
  settings: IdentitySettings
  lockout: Lockout
}

/** A pending registration. */
export interface PendingRegistration extends Pick<PendingAttempt, 'digest' | 'code'> {
  email: string
  emailVerifiedAt: Instant | null
}

/** Returns how people can register on a portal. Throws AUTH.REGISTRATION_CLOSED if they cannot. */
export const assertRegistrationOpen = ({ settings }: RegistrationPorts, portal: Portal): 'open' | 'approval' => {
  const { selfRegistration } = settings.portals[portal]
  if (selfRegistration === 'closed') throw new Refusal('AUTH.REGISTRATION_CLOSED')
  return selfRegistration
}

/** Returns the pending registration with a session id. Throws the refusals of `findAttempt`. */
export const findRegistration = async (
  ports: RegistrationPorts,
  sessionId: string,
  context: RequestContext,
  now: Instant,
): Promise<PendingRegistration> => {
  const { digest, code, attempt } = await findAttempt(ports, 'REGISTRATION', sessionId, context, now)
  if (attempt.email === null) throw sessionNotFound('a registration without an address')
  return { digest, code, email: attempt.email, emailVerifiedAt: attempt.emailVerifiedAt }
}
