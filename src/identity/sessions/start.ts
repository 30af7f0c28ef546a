import type { Tx } from '../../database/index.ts'
import { addMs, type Instant, type RequestContext, type SessionId } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { mintToken } from '../tokens/opaque-token.ts'
import { insertRefreshToken } from '../tokens/refresh-store.ts'
import { endOldestSessions } from './bound-store.ts'
import { rememberDevice } from './device-store.ts'
import { insertSession } from './store.ts'

export interface StartedSession {
  sessionId: SessionId
  refreshToken: string
  expiresAt: Instant
  isNewDevice: boolean
  /** Ended to make room; their liveness is to be forgotten once this is committed. */
  displaced: SessionId[]
}

/** Begins a session with its first refresh token. The caller holds the account's row, so the bound holds as well. */
export const sessionStarter =
  ({ ids, randomness, digest }: IdentityPorts, settings: IdentitySettings['sessions']) =>
  async (tx: Tx, account: Account, facts: RequestContext, now: Instant): Promise<StartedSession> => {
    const { portal, id: accountId } = account
    const bound = { portal, accountId, keep: account.maxSessions - 1, except: null, reason: 'DISPLACED' } as const
    const displaced = await endOldestSessions(tx, bound, now)
    const sessionId = ids.next<'session'>()
    const clientDigest = digest('client-hash', facts.clientHash)
    const expiresAt = addMs(now, settings.absoluteMs)
    const { clientIp, userAgent } = facts
    const idleExpiresAt = addMs(now, settings.idleMs)
    const session = { id: sessionId, portal, accountId, clientDigest, clientIp, userAgent, idleExpiresAt, expiresAt }
    await insertSession(tx, session, now)
    const refreshToken = mintToken(randomness)
    const first = { digest: digest('refresh-token', refreshToken), portal, sessionId, parent: null, expiresAt }
    await insertRefreshToken(tx, first, now)
    const isNewDevice = await rememberDevice(tx, accountId, clientDigest, now)
    return { sessionId, refreshToken, expiresAt, isNewDevice, displaced }
  }
