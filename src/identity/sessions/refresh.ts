import { commitWith, inTransaction, type LastStatements, type Tx } from '../../database/index.ts'
import { addMs, areWithin, type Instant, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { RequestProofs } from '../../platform/proofs/index.ts'
import type { AddressGuard } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from '../tokens/jwt.ts'
import { spendKeyProof } from '../tokens/key-proof.ts'
import { assertOpaqueToken, mintToken, sessionNotFound } from '../tokens/rules.ts'
import { insertRefreshToken, readSpentToken, spendRefreshToken } from '../tokens/store.ts'
import { recordActivity } from './activity-store.ts'
import { hasExpired } from './rules.ts'
import type { SessionPorts } from './service.ts'
import { endSession, lockSessionOfToken, type OpenSession } from './store.ts'

export interface TokenPair {
  accessToken: string
  refreshToken: string
  /** In seconds. */
  expiresIn: number
}

export interface RefreshPorts extends SessionPorts {
  settings: IdentitySettings
  tokens: AccessTokens
  proofs: Pick<RequestProofs, 'spend'>
  addressGuard: AddressGuard
}

/** Binds a successor to the token that it replaces. */
export function successorContext(parent: Uint8Array): string {
  return Buffer.from(parent).toString('base64url')
}

/**
 * Rotates a refresh token (RFC 9700, section 4.14). A token works once. Within `refreshRetryMs`, it returns the same
 * successor again until the successor is used, because responses get lost and browser tabs refresh at the same time.
 * Other reuse indicates theft and ends the session.
 * The client of a session with a key proves it again. Throws AUTH.SESSION_NOT_FOUND or ACCESS.IP_NOT_ALLOWED, and
 * VALIDATION.INVALID_PARAMETER for a proof that was used before.
 */
export async function refreshTokens(
  ports: RefreshPorts,
  refreshToken: string,
  context: RequestContext,
): Promise<TokenPair> {
  assertOpaqueToken(refreshToken)
  const rotation = await inTransaction(ports.database, (tx) => rotate(ports, tx, refreshToken, context))
  const { session } = rotation
  ports.sessionCache.invalidate(session.id)
  if (rotation.kind === 'reused') throw sessionNotFound('the refresh token was used before: its session was ended')
  await spendKeyProof(ports, context)
  const access = await ports.tokens.issue({
    portal: context.portal,
    accountId: session.accountId,
    sessionId: session.id,
    clientHash: context.clientHash,
    keyThumbprint: session.keyThumbprint,
    sessionExpiresAt: session.expiresAt,
  })
  return { ...access, refreshToken: rotation.refreshToken }
}

type Rotation =
  | { kind: 'rotated'; session: OpenSession; refreshToken: string }
  | { kind: 'reused'; session: OpenSession }

async function rotate(
  ports: RefreshPorts,
  tx: Tx,
  presented: string,
  context: RequestContext,
): Promise<Rotation | LastStatements<Rotation>> {
  const { clock, digest, randomness, secretBox, settings } = ports
  const now = clock.now()
  const { portal } = context
  const tokens = digest.candidates('refresh-token', presented)
  const digests = digest.candidates('client-hash', context.clientHash)
  const client = { digests, keyThumbprint: context.keyProof?.keyThumbprint ?? null }
  const session = await lockSessionOfToken(tx, portal, tokens, client)
  if (!session) throw sessionNotFound('unknown refresh token, or its session has ended or belongs to another client')
  if (!isUsable(session, now)) throw sessionNotFound('the session has expired, or its account is not active')
  const used = session.tokenDigest
  await ports.addressGuard.assertAllowed(session, context.clientIp, tx)

  const next = mintToken(randomness)
  const successor = secretBox.seal('refresh-successor', successorContext(used), Buffer.from(next))
  const spent = await spendRefreshToken(tx, portal, used, successor, now)
  const refreshToken = spent ? next : await unusedSuccessor(ports, tx, used, context, now)
  if (refreshToken === undefined) {
    await endReusedFamily(tx, session, context, now)
    return { kind: 'reused', session }
  }
  const { id: sessionId, expiresAt } = session
  const successorToken = { digest: digest('refresh-token', next), portal, sessionId, parent: used, expiresAt }
  const inserted = spent ? [insertRefreshToken(successorToken, now)] : []
  const recorded = recordActivity(session, now, addMs(now, settings.sessions.idleMs))
  return commitWith([...inserted, recorded], (): Rotation => ({ kind: 'rotated', session, refreshToken }))
}

function isUsable(session: OpenSession, now: Instant): boolean {
  return session.accountStatus === 'ACTIVE' && !hasExpired(session, now)
}

/** Returns the unused successor of a refresh token that was first used less than `refreshRetryMs` ago. */
async function unusedSuccessor(
  { secretBox, settings }: RefreshPorts,
  tx: Tx,
  used: Uint8Array,
  { portal }: RequestContext,
  now: Instant,
): Promise<string | undefined> {
  const { usedAt, successor } = (await readSpentToken(tx, portal, used)) ?? {}
  if (!usedAt || !successor || !areWithin(settings.tokens.refreshRetryMs, usedAt, now)) return undefined
  return Buffer.from(secretBox.open('refresh-successor', successorContext(used), successor)).toString('utf8')
}

async function endReusedFamily(tx: Tx, session: OpenSession, context: RequestContext, now: Instant): Promise<void> {
  await endSession(tx, session, 'REFRESH_REUSED', now)
  const event = { workspaceId: null, targetId: session.id, detail: { reason: 'REFRESH_REUSED' } }
  await recordRefusal(tx, unauthenticatedAuditContext(session.accountId, context, now), event)
}
