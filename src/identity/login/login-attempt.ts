import { type Instant, Refusal, type RequestContext } from '../../kernel/index.ts'
import { type Account, accountById } from '../accounts/store.ts'
import { findAttempt, type PendingAttempt } from '../attempts/service.ts'
import type { MfaPorts } from '../mfa/service.ts'
import type { PasswordPorts } from '../passwords/service.ts'
import type { IdentityPorts } from '../ports.ts'
import type { RefreshPorts } from '../sessions/refresh.ts'
import { sessionNotFound } from '../tokens/opaque-token.ts'
import type { LoginConcurrency } from './concurrency.ts'

export interface LoginPorts extends MfaPorts, PasswordPorts, RefreshPorts {
  concurrency: LoginConcurrency
}

/** A pending sign-in with its account. */
export interface PendingLogin extends PendingAttempt {
  account: Account
}

/**
 * Returns the pending sign-in with a session id. Throws AUTH.PENDING_APPROVAL or AUTH.SESSION_NOT_FOUND if its account is
 * not active, and the refusals of `findAttempt`.
 */
export const findLogin = async (
  ports: IdentityPorts,
  sessionId: string,
  context: RequestContext,
  now: Instant,
): Promise<PendingLogin> => {
  const pending = await findAttempt(ports, 'LOGIN', sessionId, context, now)
  const { accountId } = pending.attempt
  const account = accountId ? await accountById(ports.database, context.portal, accountId) : undefined
  if (account?.status === 'PENDING_APPROVAL') throw new Refusal('AUTH.PENDING_APPROVAL')
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is no longer active')
  return { ...pending, account }
}
