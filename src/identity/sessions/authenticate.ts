import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { inTransaction, isDatabaseUnavailable, run } from '../../database/index.ts'
import type { CookieCredential, Credential } from '../../gateway/pipeline/ports.ts'
import {
  addMs,
  areWithin,
  type Caller,
  invalid,
  type MaybePromise,
  type Permission,
  Refusal,
  type SessionId,
  thenSync,
} from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { type KeyProof, type ProvenRequest, proofAlgorithms, type RequestProofs } from '../../platform/proofs/index.ts'
import type { AddressGuard } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from '../tokens/jwt.ts'
import type { AccessClaims } from '../tokens/rules.ts'
import type { VerifiedTokens } from '../tokens/verified-tokens.ts'
import { recordActivity } from './activity-store.ts'
import { readReplacedAt, readSessionIdOfCookie } from './cookie-store.ts'
import { hasExpired, isEqual, permissionsOfPasskey, resistsPhishing, withheldByWorkspaces } from './rules.ts'
import type { SessionPorts } from './service.ts'
import { endSession, type OpenSession } from './store.ts'

/** How long a replaced cookie is accepted, because tabs of a browser send requests at the same time. */
const cookieGraceMs = 10_000

export interface AuthenticatorPorts extends SessionPorts {
  settings: IdentitySettings
  tokens: Pick<AccessTokens, 'clientClaims'>
  proofs: Pick<RequestProofs, 'spend' | 'verifyDpop'>
  verifiedTokens: VerifiedTokens
  addressGuard: AddressGuard
}

interface KnownCookie {
  sessionId: SessionId
  digests: readonly Uint8Array[]
}

const noPermissions: ReadonlySet<Permission> = new Set()

export class SessionAuthenticator {
  readonly #ports: AuthenticatorPorts
  readonly #settings: IdentitySettings['sessions']
  /** Minimum time between two writes. At most 1/30 of the idle timeout, so that a session in use does not expire. */
  readonly #activityIntervalMs: number
  /** A keyed digest takes as long as all other checks of a request together, and a client's hash rarely changes. */
  readonly #clientClaims: LRUCache<string, readonly string[]>
  /** Sessions and digests by the value of their cookie. A digest takes as long as all other checks. */
  readonly #cookies: LRUCache<string, KnownCookie>

  constructor(ports: AuthenticatorPorts) {
    this.#ports = ports
    this.#settings = ports.settings.sessions
    this.#activityIntervalMs = Math.min(this.#settings.activityIntervalMs, this.#settings.idleMs / 30)
    this.#clientClaims = new LRUCache({ max: this.#settings.cacheSize })
    this.#cookies = new LRUCache({ max: this.#settings.cacheSize })
  }

  /** Throws ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED. */
  authenticate(credential: Credential): MaybePromise<Caller> {
    const { clock, verifiedTokens } = this.#ports
    return thenSync(verifiedTokens.read(credential.token, credential.receivedAt ?? clock.now()), (claims) => {
      if (!claims) throw invalidToken('the token is not valid')
      return thenSync(this.#assertBound(claims, credential), () => this.#authenticateClaims(claims, credential))
    })
  }

  #authenticateClaims(claims: AccessClaims, credential: Credential): MaybePromise<Caller> {
    return thenSync(this.#ports.sessionCache.find(claims.portal, claims.sessionId, credential), (session) => {
      const open = this.#assertOpen(session)
      if (open.accountId !== claims.accountId) throw invalidToken('the session belongs to another account')
      const clientIp = credential.resolveClientIp?.(claims.portal) ?? credential.clientIp
      return this.#admit(open, clientIp, credential)
    })
  }

  /** The key of a request without a caller, which can start or renew a session. Throws VALIDATION.INVALID_PARAMETER. */
  async proveKey(proof: string, request: ProvenRequest): Promise<KeyProof> {
    const proven = await this.#ports.proofs.verifyDpop(proof, null, request)
    if ('problem' in proven) throw invalid('dpop', `DPoP: ${proven.problem}`)
    return proven
  }

  /**
   * Ends the session if the value was replaced more than a few seconds ago, because two parties then hold the cookie.
   * Throws ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED.
   */
  authenticateCookie(credential: CookieCredential): MaybePromise<Caller> {
    const known = this.#cookies.get(credential.token)
    return known ? this.#authenticateKnown(known, credential) : this.#identify(credential)
  }

  async #identify(credential: CookieCredential): Promise<Caller> {
    const { database, digest } = this.#ports
    const { token: value, portal } = credential
    const digests = digest.candidates('session-cookie', value)
    const sessionId = await readSessionIdOfCookie(database, portal, digests)
    if (sessionId === undefined) throw invalidToken('unknown cookie')
    const known = { sessionId, digests }
    this.#cookies.set(value, known)
    return this.#authenticateKnown(known, credential)
  }

  #authenticateKnown(known: KnownCookie, credential: CookieCredential): MaybePromise<Caller> {
    return thenSync(this.#ports.sessionCache.find(credential.portal, known.sessionId, credential), (found) => {
      const session = this.#assertOpen(found)
      const { cookieDigest } = session
      const current = cookieDigest && known.digests.find((each) => isEqual(each, cookieDigest))
      // A repeated check has the value of the request, which may have been replaced since.
      if (!current && !credential.receivedAt) return this.#admitReplaced(known, session, credential)
      return this.#admitClient(session, credential, current ?? undefined)
    })
  }

  async #admitReplaced(known: KnownCookie, session: OpenSession, credential: CookieCredential): Promise<Caller> {
    const { clock, database } = this.#ports
    const replacedAt = await readReplacedAt(database, session, known.digests)
    // The cached session can be older than the value.
    if (replacedAt === undefined && !credential.bypassCache)
      return this.#authenticateKnown(known, { ...credential, bypassCache: true })
    if (replacedAt === undefined) throw invalidToken('the cookie does not belong to the session')
    if (areWithin(cookieGraceMs, replacedAt, clock.now())) return this.#admitClient(session, credential)
    await this.#endStolen(session, credential)
    throw invalidToken('the cookie was replaced before: its session was ended')
  }

  #admitClient(session: OpenSession, credential: CookieCredential, cookieDigest?: Uint8Array): MaybePromise<Caller> {
    const client = Buffer.from(session.clientDigest).toString('base64url')
    const { clientHash } = credential
    if (clientHash !== null && !this.#clientClaimsOf(clientHash).some((claim) => isEqualText(client, claim)))
      throw invalidToken('the cookie belongs to another client')
    return thenSync(this.#admit(session, credential.clientIp, credential), (caller) =>
      cookieDigest ? { ...caller, cookieDigest } : caller,
    )
  }

  async #endStolen(session: OpenSession, credential: CookieCredential): Promise<void> {
    const { clock, database, sessionCache } = this.#ports
    const now = clock.now()
    await inTransaction(database, async (tx) => {
      if (!(await endSession(tx, session, 'COOKIE_REUSED', now))) return
      const event = { workspaceId: null, targetId: session.id, detail: { reason: 'COOKIE_REUSED' } }
      await recordRefusal(tx, unauthenticatedAuditContext(session.accountId, credential, now), event)
    })
    sessionCache.invalidate(session.id)
  }

  #assertBound(claims: AccessClaims, credential: Credential): MaybePromise<void> {
    const { portal, clientHash, dpopProof } = credential
    const { client, keyThumbprint } = claims
    if (portal !== null && claims.portal !== portal) throw invalidToken('the token belongs to another portal')
    if (keyThumbprint !== undefined) return this.#assertProven(keyThumbprint, credential)
    if (dpopProof !== undefined) throw invalidToken('the token is not bound to a key')
    if (client === undefined || !this.#clientClaimsOf(clientHash).some((claim) => isEqualText(client, claim)))
      throw invalidToken('the token belongs to another client')
  }

  /** Spends the proof last, so that only the holder of the key takes memory. */
  async #assertProven(keyThumbprint: string, { token, dpopProof, facts }: Credential): Promise<void> {
    if (dpopProof === undefined || !facts) throw invalidProof('the token needs a DPoP proof', 'invalid_token')
    if (facts.isRepeated) return
    const { proofs } = this.#ports
    const proven = await proofs.verifyDpop(dpopProof, token, facts)
    if ('problem' in proven) throw invalidProof(`DPoP: ${proven.problem}`)
    if (proven.keyThumbprint !== keyThumbprint) throw invalidProof('the token belongs to another key')
    if (!(await proofs.spend(proven.id))) throw invalidProof('the DPoP proof was used before')
  }

  #clientClaimsOf(clientHash: string): readonly string[] {
    const cached = this.#clientClaims.get(clientHash)
    if (cached !== undefined) return cached
    const possible = this.#ports.tokens.clientClaims(clientHash)
    this.#clientClaims.set(clientHash, possible)
    return possible
  }

  #assertOpen(session: OpenSession | undefined): OpenSession {
    if (!session) throw invalidToken('the session has ended')
    if (session.accountStatus !== 'ACTIVE') throw invalidToken('the account is not active')
    if (hasExpired(session, this.#ports.clock.now())) throw invalidToken('the session has expired')
    return session
  }

  #admit(
    session: OpenSession,
    clientIp: string,
    { bypassCache, isStreamOpen, isPassive }: Omit<Credential, 'clientHash'>,
  ): MaybePromise<Caller> {
    const { addressGuard, clock, settings } = this.#ports
    if (bypassCache) addressGuard.invalidate(session.accountId)
    // Most requests write nothing. A check of an open stream does not count as activity.
    const isRecorded = isStreamOpen || isPassive || clock.now() - session.lastActivityAt < this.#activityIntervalMs
    if (isRecorded && !session.ipWhitelistEnabled) return toCaller(session, settings)
    if (isStreamOpen) return addressGuard.assertStillAllowed(session, clientIp).then(() => toCaller(session, settings))
    return addressGuard
      .assertAllowed(session, clientIp)
      .then(() => (isRecorded ? undefined : this.#recordActivity(session)))
      .then(() => toCaller(session, settings))
  }

  async #recordActivity(session: OpenSession): Promise<void> {
    const { clock, database, sessionCache } = this.#ports
    const now = clock.now()
    try {
      await run(database, recordActivity(session, now, addMs(now, this.#settings.idleMs)))
    } catch (error) {
      // A read-only store, such as one with a full disk, can still serve reads. The session then expires earlier.
      if (!isDatabaseUnavailable(error)) throw error
      return
    }
    sessionCache.invalidate(session.id)
  }
}

function invalidToken(internal: string): Refusal {
  return new Refusal('ACCESS.TOKEN_INVALID', { internal })
}

/** RFC 9449, section 7.1. */
function invalidProof(internal: string, error = 'invalid_dpop_proof'): Refusal {
  const challenge = `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"`
  return new Refusal('ACCESS.TOKEN_INVALID', { internal, headers: { 'www-authenticate': challenge } })
}

function isEqualText(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

function toCaller(session: OpenSession, settings: IdentitySettings): Caller {
  const { binding } = settings.mfa
  const { operatorPermissions: all } = session
  const isWeak = !resistsPhishing(session)
  const withheld = isWeak ? permissionsOfPasskey(settings, session) : []
  const byWorkspaces = isWeak ? withheldByWorkspaces(settings, session.portal) : undefined
  const held = withheld.length === 0 ? all : all.filter((each) => !withheld.includes(each))
  return {
    accountId: session.accountId,
    portal: session.portal,
    sessionId: session.id,
    apiKeyId: null,
    // Otherwise, the gateway sets it once it has spent a step-up for the command.
    steppedUpAt: binding === 'session' ? session.steppedUpAt : null,
    permissions: held.length === 0 ? noPermissions : new Set(held),
    ...(withheld.length > 0 && { withheld: new Set(withheld) }),
    ...(byWorkspaces && { withheldByWorkspaces: byWorkspaces }),
  }
}
