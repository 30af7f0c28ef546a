import { batch, type Statements, together } from '../../database/index.ts'
import { addMs, type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import { firstOf } from '../../platform/crypto/index.ts'
import type { CodeOwner } from '../codes/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { assertOpaqueToken, mintToken, sessionNotFound } from '../tokens/rules.ts'
import { type Attempt, type AttemptKind, type NewAttempt, readAttempt } from './store.ts'

export interface PendingAttempt {
  digest: Uint8Array
  attempt: Attempt
  code: CodeOwner
}

/** The store gets only the digest of the session id. */
export function prepareAttempt(
  ports: IdentityPorts,
  { attempts, sessionTtlMs }: IdentitySettings['login'],
  { portal, clientHash }: RequestContext,
): { sessionId: string; attempt: NewAttempt; now: Instant } {
  const { clock, digest, randomness } = ports
  const sessionId = mintToken(randomness)
  const now = clock.now()
  const clientDigest = digest('client-hash', clientHash)
  const expiresAt = addMs(now, sessionTtlMs)
  const attempt = { digest: digest('login-session', sessionId), portal, clientDigest, tries: attempts, expiresAt }
  return { sessionId, attempt, now }
}

export function attemptCodeOwner(portal: Portal, purpose: AttemptKind, digest: Uint8Array): CodeOwner {
  return {
    portal,
    owner: Buffer.from(digest).toString('base64url'),
    purpose,
  }
}

/** Throws AUTH.SESSION_NOT_FOUND, and AUTH.CLIENT_MISMATCH for another client. */
export async function findAttempt(
  ports: IdentityPorts,
  kind: AttemptKind,
  sessionId: string,
  context: RequestContext,
  now: Instant,
): Promise<PendingAttempt> {
  return (await findAttemptAnd(ports, kind, sessionId, context, now, () => together([]))).pending
}

/** Like `findAttempt`. Sends `read` in the same round trip, even for an attempt that does not exist. */
export async function findAttemptAnd<T>(
  ports: IdentityPorts,
  kind: AttemptKind,
  sessionId: string,
  { portal, clientHash }: RequestContext,
  now: Instant,
  read: (attemptDigest: Uint8Array) => Statements<T>,
): Promise<{ pending: PendingAttempt; result: T }> {
  const { database, digest } = ports
  assertOpaqueToken(sessionId)
  const found = await firstOf(digest.candidates('login-session', sessionId), async (attemptDigest) => {
    const pending = readAttempt(portal, kind, attemptDigest, now)
    const [attempt, result] = await batch(database, [pending, read(attemptDigest)])
    return attempt && { attemptDigest, attempt, result }
  })
  if (!found) throw sessionNotFound(`no pending ${kind} attempt`)
  const { attemptDigest, attempt, result } = found
  if (!digest.matches(attempt.clientDigest, 'client-hash', clientHash)) throw new Refusal('AUTH.CLIENT_MISMATCH')
  const code = attemptCodeOwner(portal, kind, attemptDigest)
  return { pending: { digest: attemptDigest, attempt, code }, result }
}
