import { inTransaction, type Tx } from '../../database/index.ts'
import {
  addMs,
  bizId,
  type Caller,
  type Instant,
  isBizId,
  notFound,
  Refusal,
  type RequestContext,
  type SessionId,
} from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { type Account, lockAccount } from '../accounts/store.ts'
import type { CallerContext, IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { mintToken } from '../tokens/rules.ts'
import { insertRefreshToken } from '../tokens/store.ts'
import { assertSession } from './rules.ts'
import type { SessionCache } from './session-cache.ts'
import {
  endOldestSessions,
  endSession,
  insertSession,
  readSessionConfiguration,
  recordDevice,
  type SessionConfiguration,
  setMaxSessions,
} from './store.ts'

/** The ports of sessions. */
export interface SessionPorts extends IdentityPorts {
  sessionCache: SessionCache
}

const assertFound = (found: SessionConfiguration | undefined): SessionConfiguration => {
  if (!found) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account does not exist' })
  return found
}

/** Returns the session configuration of the caller's account. */
export const getSessionConfiguration = async (
  { database }: SessionPorts,
  { portal, accountId }: Caller,
): Promise<SessionConfiguration> => assertFound(await readSessionConfiguration(database, portal, accountId))

/** Sets the account's session limit and ends the oldest sessions above it, except the caller's. */
export const configureSessions = async (
  { database, clock, sessionCache }: SessionPorts,
  maxSessions: number,
  context: CallerContext,
): Promise<SessionConfiguration> => {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const { ended, configuration } = await inTransaction(database, async (tx) => {
    const now = clock.now()
    await lockAccount(tx, portal, accountId)
    await setMaxSessions(tx, portal, accountId, maxSessions, now)
    const ending = { portal, accountId, maxRemaining: maxSessions - 1, except: sessionId, reason: 'DISPLACED' } as const
    const ended = await endOldestSessions(tx, ending, now)
    await recordSuccess(tx, auditContextOf(context), {
      workspaceId: null,
      targetId: accountId,
      detail: { maxSessions },
    })
    return { ended, configuration: assertFound(await readSessionConfiguration(tx, portal, accountId)) }
  })
  for (const id of ended) sessionCache.invalidate(id)
  return configuration
}

/** Ends a session of the caller's account. Throws RESOURCE.NOT_FOUND for any other session. */
export const terminateSession = async (
  { database, clock, sessionCache }: SessionPorts,
  sessionId: string,
  context: CallerContext,
): Promise<void> => {
  const { portal, accountId } = assertSession(context.caller)
  if (!isBizId(sessionId)) throw notFound('not a session id')
  const id = bizId<'session'>(sessionId)
  const ended = await inTransaction(database, async (tx) => {
    const wasOpen = await endSession(tx, { portal, accountId, id }, 'TERMINATED', clock.now())
    if (wasOpen) await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: id })
    return wasOpen
  })
  if (!ended) throw notFound('no open session of this account')
  sessionCache.invalidate(id)
}

/** Ends all sessions of the account except the caller's. Returns how many ended. */
export const terminateOtherSessions = async (
  { database, clock, sessionCache }: SessionPorts,
  context: CallerContext,
): Promise<number> => {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const ended = await inTransaction(database, async (tx) => {
    await lockAccount(tx, portal, accountId)
    const ending = { portal, accountId, maxRemaining: 0, except: sessionId, reason: 'TERMINATED' } as const
    const sessions = await endOldestSessions(tx, ending, clock.now())
    const detail = { sessions: sessions.length }
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: accountId, detail })
    return sessions
  })
  for (const id of ended) sessionCache.invalidate(id)
  return ended.length
}

/** Ends the caller's session. Returns 1, or 0 if a concurrent request ended it. */
export const logout = async (
  { database, clock, sessionCache }: SessionPorts,
  context: CallerContext,
): Promise<number> => {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const ended = await inTransaction(database, async (tx) => {
    const wasOpen = await endSession(tx, { portal, accountId, id: sessionId }, 'LOGOUT', clock.now())
    if (wasOpen) await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: sessionId })
    return wasOpen
  })
  sessionCache.invalidate(sessionId)
  return ended ? 1 : 0
}

/** A new session. */
export interface StartedSession {
  sessionId: SessionId
  refreshToken: string
  expiresAt: Instant
  isNewDevice: boolean
  /** Sessions that ended because of the session limit. Invalidate them after the commit. */
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
  const ending = {
    portal,
    accountId,
    maxRemaining: account.maxSessions - 1,
    except: null,
    reason: 'DISPLACED',
  } as const
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
  const isNewDevice = await recordDevice(tx, accountId, clientDigest, now)
  return { sessionId, refreshToken, expiresAt, isNewDevice, displaced }
}
