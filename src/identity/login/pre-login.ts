import { addMs, type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { IdentitySettings } from '../settings.ts'
import { isOpaqueToken, mintToken } from '../tokens/opaque-token.ts'
import type { CodeOwner } from './code-store.ts'
import { type LoginSession, type NewLoginSession, type PreLoginKind, readLoginSession } from './login-session-store.ts'

/** A pre-login session found by the id that its client holds. */
export interface PreLogin {
  digest: Uint8Array
  session: LoginSession
  code: CodeOwner
}

/** A session that begins: its id leaves once, and what is kept of it is a digest. */
export const newPreLogin = (
  { clock, digest, randomness }: IdentityPorts,
  { portal, clientHash }: RequestContext,
  { attempts, sessionTtlMs }: IdentitySettings['login'],
): { sessionId: string; session: NewLoginSession; now: Instant } => {
  const sessionId = mintToken(randomness)
  const now = clock.now()
  const clientDigest = digest('client-hash', clientHash)
  const expiresAt = addMs(now, sessionTtlMs)
  return {
    sessionId,
    session: { digest: digest('login-session', sessionId), portal, clientDigest, attempts, expiresAt },
    now,
  }
}

/** What a mailed code is for, by the digest of its session's id. */
export const preLoginCode = (portal: Portal, purpose: PreLoginKind, digest: Uint8Array): CodeOwner => ({
  portal,
  owner: Buffer.from(digest).toString('base64url'),
  purpose,
})

/**
 * The session that an id names: AUTH.SESSION_NOT_FOUND where it is unknown, expired, spent or, for a login, out of attempts;
 * AUTH.CLIENT_MISMATCH where the client hash is not the one that it began with.
 */
export const findPreLogin = async (
  { database, digest }: IdentityPorts,
  { portal, clientHash }: RequestContext,
  kind: PreLoginKind,
  sessionId: string,
  now: Instant,
): Promise<PreLogin> => {
  if (!isOpaqueToken(sessionId)) throw sessionNotFound('no session id of ours')
  const token = digest('login-session', sessionId)
  const session = await readLoginSession(database, portal, kind, token, now)
  if (!session) throw sessionNotFound(`no such ${kind} under way`)
  if (Buffer.compare(session.clientDigest, digest('client-hash', clientHash)) !== 0)
    throw new Refusal('AUTH.CLIENT_MISMATCH')
  return { digest: token, session, code: preLoginCode(portal, kind, token) }
}
