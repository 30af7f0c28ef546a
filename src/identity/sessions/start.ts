import type { Tx } from '../../database/index.ts'
import { addMs, type Instant, type RequestContext, type SessionId } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { mintToken } from '../tokens/opaque-token.ts'
import { insertRefreshToken } from '../tokens/refresh-store.ts'
import { rememberDevice } from './device-store.ts'
import { endOldestSessions } from './limit-store.ts'
import { insertSession } from './store.ts'

export interface StartedSession {
  sessionId: SessionId
  refreshToken: string
  expiresAt: Instant
  isNewDevice: boolean
  /** Sessions that were ended to stay within the limit. Invalidate them once the transaction is committed. */
  displaced: SessionId[]
}

interface StartPorts extends IdentityPorts {
  settings: IdentitySettings
}

/** Starts a session with its first refresh token. The caller must have locked the account's row. */
export const startSession = async (
  { ids, randomness, digest, settings }: StartPorts,
  tx: Tx,
  account: Account,
  { clientHash, clientIp, userAgent }: RequestContext,
  now: Instant,
): Promise<StartedSession> => {
  const { portal, id: accountId } = account
  const ending = { portal, accountId, keep: account.maxSessions - 1, except: null, reason: 'DISPLACED' } as const
  const displaced = await endOldestSessions(tx, ending, now)
  const sessionId = ids.next<'session'>()
  const clientDigest = digest('client-hash', clientHash)
  const expiresAt = addMs(now, settings.sessions.absoluteMs)
  const idleExpiresAt = addMs(now, settings.sessions.idleMs)
  const session = { id: sessionId, portal, accountId, clientDigest, clientIp, userAgent, idleExpiresAt, expiresAt }
  await insertSession(tx, session, now)
  const refreshToken = mintToken(randomness)
  const first = { digest: digest('refresh-token', refreshToken), portal, sessionId, parent: null, expiresAt }
  await insertRefreshToken(tx, first, now)
  const isNewDevice = await rememberDevice(tx, accountId, clientDigest, now)
  return { sessionId, refreshToken, expiresAt, isNewDevice, displaced }
}
