import { type Instant, Refusal, type RequestContext } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import { findPreLogin, type PreLogin } from './pre-login.ts'

/** A login under way. */
export interface LiveLogin extends PreLogin {
  account: Account
}

/** The login that a session id names, for the client that began it. */
export const findLogin = async (
  ports: IdentityPorts,
  facts: RequestContext,
  sessionId: string,
  now: Instant,
): Promise<LiveLogin> => {
  const login = await findPreLogin(ports, facts, 'LOGIN', sessionId, now)
  const { accountId } = login.session
  const account = accountId ? await accountById(ports.database, facts.portal, accountId) : undefined
  if (account?.status === 'PENDING_APPROVAL') throw new Refusal('AUTH.PENDING_APPROVAL')
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active any more')
  return { ...login, account }
}
