import { timingSafeEqual } from 'node:crypto'
import { type Database, databaseFault } from '../../database/index.ts'
import type { Credential } from '../../gateway/ports.ts'
import {
  addMs,
  type Caller,
  type Clock,
  type Instant,
  type MaybePromise,
  type Permission,
  Refusal,
  thenSync,
} from '../../kernel/index.ts'
import type { IpWhitelistGuard } from '../ip-whitelist/guard.ts'
import { rememberDigests } from '../remembered-digests.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessClaims } from '../tokens/claims.ts'
import type { Liveness } from './liveness.ts'
import { hasRunOut } from './running-store.ts'
import { type OpenSession, recordActivity } from './store.ts'

interface Parts {
  database: Database
  clock: Clock
  readToken(token: string, at: Instant): MaybePromise<AccessClaims | undefined>
  clientOf(clientHash: string): string
  liveness: Liveness
  guard: IpWhitelistGuard
  settings: IdentitySettings['sessions']
}

const refuse = (internal: string): Refusal => new Refusal('ACCESS.TOKEN_INVALID', { internal })

const noRights: ReadonlySet<Permission> = new Set()

const same = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Turns an access token into its live caller. Whatever is wrong with it is one ACCESS.TOKEN_INVALID. */
export const authenticator = (parts: Parts): ((credential: Credential) => MaybePromise<Caller>) => {
  const { database, clock, liveness, settings } = parts
  // Where sessions that nobody uses end soon, activity is written the more often: in use they are not to end.
  const notedMs = Math.min(settings.activityMs, settings.idleMs / 30)

  const clientOf = rememberDigests(parts.clientOf, settings.remembered)

  /** The client hash has to be the session's on every chain: only API keys do without. */
  const checkBinding = (claims: AccessClaims, { portal, clientHash }: Credential): void => {
    if (portal !== null && claims.portal !== portal) throw refuse('the token belongs to another portal')
    if (!same(claims.client, clientOf(clientHash))) throw refuse('the token belongs to another client')
  }

  const checkAlive = (session: OpenSession | undefined, claims: AccessClaims): OpenSession => {
    if (!session) throw refuse('the session has ended')
    if (session.accountId !== claims.accountId) throw refuse('the session is another account’s')
    if (session.accountStatus !== 'ACTIVE') throw refuse('the account is not active')
    if (hasRunOut(session, clock.now())) throw refuse('the session has run out')
    return session
  }

  const callerOf = (session: OpenSession): Caller => ({
    accountId: session.accountId,
    portal: session.portal,
    sessionId: session.id,
    apiKeyId: null,
    steppedUpAt: session.steppedUpAt,
    permissions: session.operatorPermissions.length === 0 ? noRights : new Set(session.operatorPermissions),
  })

  const noteActivity = async (session: OpenSession): Promise<void> => {
    const now = clock.now()
    try {
      await recordActivity(database, session, now, addMs(now, settings.idleMs))
    } catch (error) {
      // A store that can be read and not written (its disk is full) still serves reading; the session ends the sooner.
      if (!databaseFault(error)) throw error
      return
    }
    liveness.forget(session.id)
  }

  const admit = (session: OpenSession, clientIp: string, anew: boolean): MaybePromise<Caller> => {
    if (anew) parts.guard.forget(session.accountId)
    // Activity is written at most once a minute, so that most requests write nothing.
    const isNoted = clock.now() - session.lastActivityAt < notedMs
    if (isNoted && !session.ipWhitelistEnabled) return callerOf(session)
    return parts.guard
      .admit(session, clientIp)
      .then(() => (isNoted ? undefined : noteActivity(session)))
      .then(() => callerOf(session))
  }

  return (credential) =>
    thenSync(parts.readToken(credential.token, credential.cameAt ?? clock.now()), (claims) => {
      if (!claims) throw refuse('the token is not one of ours, or not good now')
      checkBinding(claims, credential)
      const { anew } = credential
      return thenSync(liveness.find(claims.portal, claims.sessionId, anew), (session) =>
        admit(checkAlive(session, claims), credential.clientIpAt?.(claims.portal) ?? credential.clientIp, anew),
      )
    })
}
