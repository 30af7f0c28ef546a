import { type Instant, Refusal, type RequestFacts } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import { isOpaqueToken } from '../tokens/opaque-token.ts'
import type { CodeOwner } from './code-store.ts'
import { type LoginSession, readLoginSession } from './login-session-store.ts'

/** A login under way, found by the session id that its client holds. */
export interface LiveLogin {
  digest: Uint8Array
  session: LoginSession
  account: Account
  code: CodeOwner
}

/**
 * The login that a session id names: AUTH.SESSION_NOT_FOUND where it is unknown, expired, spent or out of attempts,
 * AUTH.CLIENT_MISMATCH where the client hash is not the one that it began with.
 */
export const findLogin = async (
  { database, digest }: IdentityPorts,
  facts: RequestFacts,
  sessionId: string,
  now: Instant,
): Promise<LiveLogin> => {
  const { portal } = facts
  if (!isOpaqueToken(sessionId)) throw sessionNotFound('no session id of ours')
  const token = digest('login-session', sessionId)
  const session = await readLoginSession(database, portal, 'LOGIN', token, now)
  if (!session) throw sessionNotFound('no such login under way')
  if (Buffer.compare(session.clientDigest, digest('client-hash', facts.clientHash)) !== 0)
    throw new Refusal('AUTH.CLIENT_MISMATCH')
  const account = session.accountId ? await accountById(database, portal, session.accountId) : undefined
  if (account?.status === 'PENDING_APPROVAL') throw new Refusal('AUTH.PENDING_APPROVAL')
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active any more')
  const owner = Buffer.from(token).toString('base64url')
  return { digest: token, session, account, code: { portal, owner, purpose: 'LOGIN' } }
}
