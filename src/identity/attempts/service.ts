import { addMs, type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import type { CodeOwner } from '../codes/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { assertOpaqueToken, mintToken, sessionNotFound } from '../tokens/rules.ts'
import { type Attempt, type AttemptKind, type NewAttempt, readAttempt } from './store.ts'

/** A pending sign-in or registration. */
export interface PendingAttempt {
  digest: Uint8Array
  attempt: Attempt
  /** Owner of the mailed code. */
  code: CodeOwner
}

/** Returns the stored digest of a session id. */
export const attemptDigestOf = ({ digest }: IdentityPorts, sessionId: string): Uint8Array =>
  digest('login-session', sessionId)

/** Creates an attempt to insert. The client gets the session id; the store only gets its digest. */
export const prepareAttempt = (
  ports: IdentityPorts,
  { attempts, sessionTtlMs }: IdentitySettings['login'],
  { portal, clientHash }: RequestContext,
): { sessionId: string; attempt: NewAttempt; now: Instant } => {
  const { clock, digest, randomness } = ports
  const sessionId = mintToken(randomness)
  const now = clock.now()
  const clientDigest = digest('client-hash', clientHash)
  const expiresAt = addMs(now, sessionTtlMs)
  const attempt = { digest: attemptDigestOf(ports, sessionId), portal, clientDigest, tries: attempts, expiresAt }
  return { sessionId, attempt, now }
}

/** Returns the owner of the code that is mailed for an attempt. */
export const attemptCodeOwner = (portal: Portal, purpose: AttemptKind, digest: Uint8Array): CodeOwner => ({
  portal,
  owner: Buffer.from(digest).toString('base64url'),
  purpose,
})

/**
 * Returns the attempt with a session id. Throws AUTH.SESSION_NOT_FOUND if the attempt is unknown, expired or used, or
 * if a sign-in has no tries left. Throws AUTH.CLIENT_MISMATCH if another client started it.
 */
export const findAttempt = async (
  ports: IdentityPorts,
  kind: AttemptKind,
  sessionId: string,
  { portal, clientHash }: RequestContext,
  now: Instant,
): Promise<PendingAttempt> => {
  const { database, digest } = ports
  assertOpaqueToken(sessionId)
  const attemptDigest = attemptDigestOf(ports, sessionId)
  const attempt = await readAttempt(database, portal, kind, attemptDigest, now)
  if (!attempt) throw sessionNotFound(`no pending ${kind} attempt`)
  if (Buffer.compare(attempt.clientDigest, digest('client-hash', clientHash)) !== 0)
    throw new Refusal('AUTH.CLIENT_MISMATCH')
  return { digest: attemptDigest, attempt, code: attemptCodeOwner(portal, kind, attemptDigest) }
}
