import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { isDatabaseUnavailable } from '../../database/index.ts'
import type { Credential } from '../../gateway/pipeline/ports.ts'
import { addMs, type Caller, type MaybePromise, type Permission, Refusal, thenSync } from '../../kernel/index.ts'
import type { AddressGuard } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from '../tokens/jwt.ts'
import type { AccessClaims } from '../tokens/rules.ts'
import type { VerifiedTokens } from '../tokens/verified-tokens.ts'
import { recordActivity } from './activity-store.ts'
import { hasExpired } from './rules.ts'
import type { SessionPorts } from './service.ts'
import type { OpenSession } from './store.ts'

/** The ports of access-token authentication. */
export interface AuthenticatorPorts extends SessionPorts {
  settings: IdentitySettings
  tokens: Pick<AccessTokens, 'clientClaim'>
  verifiedTokens: VerifiedTokens
  addressGuard: AddressGuard
}

const invalidToken = (internal: string): Refusal => new Refusal('ACCESS.TOKEN_INVALID', { internal })

const noPermissions: ReadonlySet<Permission> = new Set()

const isEqual = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

const toCaller = (session: OpenSession): Caller => ({
  accountId: session.accountId,
  portal: session.portal,
  sessionId: session.id,
  apiKeyId: null,
  steppedUpAt: session.steppedUpAt,
  permissions: session.operatorPermissions.length === 0 ? noPermissions : new Set(session.operatorPermissions),
})

/** Authenticates access tokens. All refusals but that of the client address are the same ACCESS.TOKEN_INVALID. */
export class SessionAuthenticator {
  readonly #ports: AuthenticatorPorts
  readonly #settings: IdentitySettings['sessions']
  /** At most 1/30 of the idle timeout, so that a session in use does not expire. */
  readonly #activityIntervalMs: number
  /**
   * Cached, because a keyed digest takes as long as all other checks of a request, and the hash of a client rarely
   * changes.
   */
  readonly #clientClaims: LRUCache<string, string>

  constructor(ports: AuthenticatorPorts) {
    this.#ports = ports
    this.#settings = ports.settings.sessions
    this.#activityIntervalMs = Math.min(this.#settings.activityIntervalMs, this.#settings.idleMs / 30)
    this.#clientClaims = new LRUCache({ max: this.#settings.cacheSize })
  }

  /** Returns the caller of a valid token whose session is open. Throws ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED. */
  authenticate(credential: Credential): MaybePromise<Caller> {
    const { clock, sessionCache, verifiedTokens } = this.#ports
    return thenSync(verifiedTokens.read(credential.token, credential.receivedAt ?? clock.now()), (claims) => {
      if (!claims) throw invalidToken('the token is not valid')
      this.#assertBound(claims, credential)
      const { bypassCache } = credential
      return thenSync(sessionCache.find(claims.portal, claims.sessionId, bypassCache), (session) => {
        const clientIp = credential.resolveClientIp?.(claims.portal) ?? credential.clientIp
        return this.#admit(this.#assertOpen(session, claims), clientIp, bypassCache)
      })
    })
  }

  /** Throws unless the token was issued to this client, for this portal. */
  #assertBound(claims: AccessClaims, { portal, clientHash }: Credential): void {
    if (portal !== null && claims.portal !== portal) throw invalidToken('the token belongs to another portal')
    if (!isEqual(claims.client, this.#clientClaim(clientHash)))
      throw invalidToken('the token belongs to another client')
  }

  #clientClaim(clientHash: string): string {
    const cached = this.#clientClaims.get(clientHash)
    if (cached !== undefined) return cached
    const claim = this.#ports.tokens.clientClaim(clientHash)
    this.#clientClaims.set(clientHash, claim)
    return claim
  }

  #assertOpen(session: OpenSession | undefined, claims: AccessClaims): OpenSession {
    if (!session) throw invalidToken('the session has ended')
    if (session.accountId !== claims.accountId) throw invalidToken('the session belongs to another account')
    if (session.accountStatus !== 'ACTIVE') throw invalidToken('the account is not active')
    if (hasExpired(session, this.#ports.clock.now())) throw invalidToken('the session has expired')
    return session
  }

  #admit(session: OpenSession, clientIp: string, bypassCache: boolean): MaybePromise<Caller> {
    const { addressGuard, clock } = this.#ports
    if (bypassCache) addressGuard.invalidate(session.accountId)
    // Write activity at most once per interval: most requests write nothing.
    const isRecent = clock.now() - session.lastActivityAt < this.#activityIntervalMs
    if (isRecent && !session.ipWhitelistEnabled) return toCaller(session)
    return addressGuard
      .assertAllowed(session, clientIp)
      .then(() => (isRecent ? undefined : this.#recordActivity(session)))
      .then(() => toCaller(session))
  }

  async #recordActivity(session: OpenSession): Promise<void> {
    const { clock, database, sessionCache } = this.#ports
    const now = clock.now()
    try {
      await recordActivity(database, session, now, addMs(now, this.#settings.idleMs))
    } catch (error) {
      // A read-only store, for example after its disk is full, can still serve reads. The session then expires earlier.
      if (!isDatabaseUnavailable(error)) throw error
      return
    }
    sessionCache.invalidate(session.id)
  }
}
