import { inTransaction, type Tx } from '../../database/index.ts'
import { addMs, areWithin, type Instant, type RequestContext } from '../../kernel/index.ts'
import { actBy, recordRefusedAct } from '../../platform/audit/index.ts'
import type { AddressGuard } from '../ip-whitelist/guard.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { Liveness } from '../sessions/liveness.ts'
import { hasRunOut } from '../sessions/running-store.ts'
import { endSession, lockOpenSession, type OpenSession, recordActivity } from '../sessions/store.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from './access-tokens.ts'
import { isOpaqueToken, mintToken } from './opaque-token.ts'
import { insertRefreshToken, sessionOfRefreshToken, spendRefreshToken, usedRefreshToken } from './refresh-store.ts'

export interface TokenPair {
  accessToken: string
  refreshToken: string
  /** Seconds that the access token is good for. */
  expiresIn: number
}

interface Parts {
  ports: IdentityPorts
  tokens: AccessTokens
  liveness: Liveness
  admit: AddressGuard
  settings: IdentitySettings
}

type Outcome =
  | { kind: 'rotated'; session: OpenSession; refreshToken: string }
  | { kind: 'reused'; session: OpenSession }

const isGood = (session: OpenSession, now: Instant): boolean =>
  session.accountStatus === 'ACTIVE' && !hasRunOut(session, now)

/**
 * Rotates a refresh token (RFC 9700, section 4.14): each is good once. Two tabs that present the same one within the
 * window get the same successor; one that is used later was stolen from somebody, so its whole family ends.
 */
export const refresher = ({ ports, tokens, liveness, admit, settings }: Parts) => {
  const { database, clock, randomness, digest, secretBox } = ports
  const digestOf = (token: string): Uint8Array => digest('refresh-token', token)
  const contextOf = (parent: Uint8Array): string => Buffer.from(parent).toString('base64url')

  /** The token that this one yielded, if that was a moment ago. */
  const recentSuccessor = async (
    tx: Tx,
    facts: RequestContext,
    used: Uint8Array,
    now: Instant,
  ): Promise<string | undefined> => {
    const { usedAt, successor } = (await usedRefreshToken(tx, facts.portal, used)) ?? {}
    if (!usedAt || !successor || !areWithin(settings.tokens.refreshReuseMs, usedAt, now)) return undefined
    return Buffer.from(secretBox.open('refresh-successor', contextOf(used), successor)).toString('utf8')
  }

  const rotate = async (tx: Tx, facts: RequestContext, presented: string): Promise<Outcome> => {
    const now = clock.now()
    const { portal } = facts
    const used = digestOf(presented)
    const sessionId = await sessionOfRefreshToken(tx, portal, used)
    if (!sessionId) throw sessionNotFound('no such refresh token')
    const session = await lockOpenSession(tx, portal, sessionId, digest('client-hash', facts.clientHash))
    if (!session || !isGood(session, now)) throw sessionNotFound('the session has ended, or is another client’s')
    await admit(session, facts.clientIp, tx)

    const next = mintToken(randomness)
    const sealed = secretBox.seal('refresh-successor', contextOf(used), Buffer.from(next))
    const spent = await spendRefreshToken(tx, portal, used, sealed, now)
    const refreshToken = spent ? next : await recentSuccessor(tx, facts, used, now)
    if (refreshToken === undefined) {
      await endSession(tx, session, 'REFRESH_REUSED', now)
      const told = { workspaceId: null, targetId: session.id, detail: { reason: 'REFRESH_REUSED' } }
      await recordRefusedAct(tx, actBy(session.accountId, facts, now), told)
      return { kind: 'reused', session }
    }
    if (spent) {
      const token = { digest: digestOf(next), portal, sessionId, parent: used, expiresAt: session.expiresAt }
      await insertRefreshToken(tx, token, now)
    }
    await recordActivity(tx, session, now, addMs(now, settings.sessions.idleMs))
    return { kind: 'rotated', session, refreshToken }
  }

  return async (facts: RequestContext, presented: string): Promise<TokenPair> => {
    if (!isOpaqueToken(presented)) throw sessionNotFound('no refresh token of ours')
    const outcome = await inTransaction(database, (tx) => rotate(tx, facts, presented))
    liveness.forget(outcome.session.id)
    if (outcome.kind === 'reused') throw sessionNotFound('the refresh token was used before; its family has ended')
    const access = await tokens.issue({
      portal: facts.portal,
      accountId: outcome.session.accountId,
      sessionId: outcome.session.id,
      clientHash: facts.clientHash,
      sessionExpiresAt: outcome.session.expiresAt,
    })
    return { ...access, refreshToken: outcome.refreshToken }
  }
}
