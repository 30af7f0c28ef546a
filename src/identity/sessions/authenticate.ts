import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { isDatabaseUnavailable, run } from '../../database/index.ts'
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

export interface AuthenticatorPorts extends SessionPorts {
  settings: IdentitySettings
  tokens: Pick<AccessTokens, 'clientClaims'>
  verifiedTokens: VerifiedTokens
  addressGuard: AddressGuard
}

const noPermissions: ReadonlySet<Permission> = new Set()

export class SessionAuthenticator {
  readonly #ports: AuthenticatorPorts
  readonly #settings: IdentitySettings['sessions']
  /** Minimum time between two writes. At most 1/30 of the idle timeout, so that a session in use does not expire. */
  readonly #activityIntervalMs: number
  /** A keyed digest takes as long as all other checks of a request together, and a client's hash rarely changes. */
  readonly #clientClaims: LRUCache<string, readonly string[]>

  constructor(ports: AuthenticatorPorts) {
    this.#ports = ports
    this.#settings = ports.settings.sessions
    this.#activityIntervalMs = Math.min(this.#settings.activityIntervalMs, this.#settings.idleMs / 30)
    this.#clientClaims = new LRUCache({ max: this.#settings.cacheSize })
  }

  /** Throws ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED. */
  authenticate(credential: Credential): MaybePromise<Caller> {
    const { clock, sessionCache, verifiedTokens } = this.#ports
    return thenSync(verifiedTokens.read(credential.token, credential.receivedAt ?? clock.now()), (claims) => {
      if (!claims) throw invalidToken('the token is not valid')
      this.#assertBound(claims, credential)
      return thenSync(sessionCache.find(claims.portal, claims.sessionId, credential), (session) => {
        const clientIp = credential.resolveClientIp?.(claims.portal) ?? credential.clientIp
        return this.#admit(this.#assertOpen(session, claims), clientIp, credential)
      })
    })
  }

  #assertBound(claims: AccessClaims, { portal, clientHash }: Credential): void {
    if (portal !== null && claims.portal !== portal) throw invalidToken('the token belongs to another portal')
    if (!this.#clientClaimsOf(clientHash).some((claim) => isEqual(claims.client, claim)))
      throw invalidToken('the token belongs to another client')
  }

  #clientClaimsOf(clientHash: string): readonly string[] {
    const cached = this.#clientClaims.get(clientHash)
    if (cached !== undefined) return cached
    const possible = this.#ports.tokens.clientClaims(clientHash)
    this.#clientClaims.set(clientHash, possible)
    return possible
  }

  #assertOpen(session: OpenSession | undefined, claims: AccessClaims): OpenSession {
    if (!session) throw invalidToken('the session has ended')
    if (session.accountId !== claims.accountId) throw invalidToken('the session belongs to another account')
    if (session.accountStatus !== 'ACTIVE') throw invalidToken('the account is not active')
    if (hasExpired(session, this.#ports.clock.now())) throw invalidToken('the session has expired')
    return session
  }

  #admit(
    session: OpenSession,
    clientIp: string,
    { bypassCache, isStreamOpen, isPassive }: Credential,
  ): MaybePromise<Caller> {
    const { addressGuard, clock, settings } = this.#ports
    const { mfa } = settings
    if (bypassCache) addressGuard.invalidate(session.accountId)
    // Most requests write nothing. A check of an open stream does not count as activity.
    const isRecorded = isStreamOpen || isPassive || clock.now() - session.lastActivityAt < this.#activityIntervalMs
    if (isRecorded && !session.ipWhitelistEnabled) return toCaller(session, mfa)
    return addressGuard
      .assertAllowed(session, clientIp)
      .then(() => (isRecorded ? undefined : this.#recordActivity(session)))
      .then(() => toCaller(session, mfa))
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

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

function toCaller(session: OpenSession, { binding }: IdentitySettings['mfa']): Caller {
  return {
    accountId: session.accountId,
    portal: session.portal,
    sessionId: session.id,
    apiKeyId: null,
    // Otherwise, the gateway sets it once it has spent a step-up for the command.
    steppedUpAt: binding === 'session' ? session.steppedUpAt : null,
    permissions: session.operatorPermissions.length === 0 ? noPermissions : new Set(session.operatorPermissions),
  }
}
