import { inTransaction, run, type Statements, type Tx, together } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  bizId,
  type Caller,
  type Instant,
  isBizId,
  notFound,
  type Portal,
  Refusal,
  type RequestContext,
  type SessionId,
} from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { lockOwnAccount } from '../accounts/service.ts'
import { type Account, lockAccount } from '../accounts/store.ts'
import { deleteDevices } from '../devices/store.ts'
import type { CallerContext, IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { mintToken } from '../tokens/rules.ts'
import { insertRefreshToken } from '../tokens/store.ts'
import { assertSession, resistsPhishing } from './rules.ts'
import type { SessionEndReason, SignInMethod } from './schema.ts'
import type { SessionCache } from './session-cache.ts'
import {
  endOldestSessions,
  endSession,
  insertSession,
  type OpenSession,
  type ProviderSession,
  readOpenSession,
  readSessionConfiguration,
  type SessionConfiguration,
  setMaxSessions,
} from './store.ts'

export interface SessionPorts extends IdentityPorts {
  sessionCache: SessionCache
}

export async function getSessionConfiguration(
  { database }: SessionPorts,
  { portal, accountId }: Caller,
): Promise<SessionConfiguration> {
  return assertExists(await readSessionConfiguration(database, portal, accountId))
}

/** Throws ACCESS.TOKEN_INVALID if the session has just ended. */
export async function getOpenSession({ database }: SessionPorts, caller: Caller): Promise<OpenSession> {
  const { portal, sessionId } = assertSession(caller)
  const found = await readOpenSession(database, portal, sessionId)
  if (!found) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the session has just ended' })
  return found
}

/**
 * Locks the caller's account until the end of the transaction, and returns it. Throws ACCESS.TOKEN_INVALID if the caller's
 * session has ended. A recovery of the account suspends only the credentials and factors that it finds, so a command that
 * creates some must not follow it.
 */
export async function lockAccountOfSession(tx: Tx, caller: Caller): Promise<Account> {
  const { portal, sessionId } = assertSession(caller)
  const account = await lockOwnAccount(tx, caller)
  if (!(await readOpenSession(tx, portal, sessionId)))
    throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the session has just ended' })
  return account
}

/** See `lockAccountOfSession`. */
export async function assertSessionOpen(tx: Tx, caller: Caller): Promise<void> {
  await lockAccountOfSession(tx, caller)
}

/** Also forgets the account's devices, so that a thief's device counts as new. Returns the sessions that were active. */
export async function endSessions(
  tx: Tx,
  { portal, id: accountId }: { portal: Portal; id: AccountId },
  reason: SessionEndReason,
  at: Instant,
): Promise<SessionId[]> {
  await deleteDevices(tx, accountId)
  return run(tx, endOldestSessions({ portal, accountId, maxRemaining: 0, except: null, reason }, at))
}

/** Never ends the caller's session. */
export async function configureSessions(
  { database, clock, sessionCache }: SessionPorts,
  maxSessions: number,
  context: CallerContext,
): Promise<SessionConfiguration> {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const { ended, configuration } = await inTransaction(database, async (tx) => {
    const now = clock.now()
    await lockAccount(tx, portal, accountId)
    await setMaxSessions(tx, portal, accountId, maxSessions, now)
    const ending = { portal, accountId, maxRemaining: maxSessions - 1, except: sessionId, reason: 'DISPLACED' } as const
    const ended = await run(tx, endOldestSessions(ending, now))
    await recordSuccess(tx, auditContextOf(context), {
      workspaceId: null,
      targetId: accountId,
      detail: { maxSessions },
    })
    return { ended, configuration: assertExists(await readSessionConfiguration(tx, portal, accountId)) }
  })
  for (const id of ended) sessionCache.invalidate(id)
  return configuration
}

/** Throws RESOURCE.NOT_FOUND for sessions of other accounts. */
export async function terminateSession(
  { database, clock, sessionCache }: SessionPorts,
  sessionId: string,
  context: CallerContext,
): Promise<void> {
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

export async function terminateOtherSessions(
  { database, clock, sessionCache }: SessionPorts,
  context: CallerContext,
): Promise<number> {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const ended = await inTransaction(database, async (tx) => {
    await lockAccount(tx, portal, accountId)
    const ending = { portal, accountId, maxRemaining: 0, except: sessionId, reason: 'TERMINATED' } as const
    const sessions = await run(tx, endOldestSessions(ending, clock.now()))
    const detail = { sessions: sessions.length }
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: accountId, detail })
    return sessions
  })
  for (const id of ended) sessionCache.invalidate(id)
  return ended.length
}

/** Returns 0 if a concurrent request has already ended the session. */
export async function logout({ database, clock, sessionCache }: SessionPorts, context: CallerContext): Promise<number> {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const ended = await inTransaction(database, async (tx) => {
    const wasOpen = await endSession(tx, { portal, accountId, id: sessionId }, 'LOGOUT', clock.now())
    if (wasOpen) await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: sessionId })
    return wasOpen
  })
  sessionCache.invalidate(sessionId)
  return ended ? 1 : 0
}

/** Whether the session was started with a passkey that counts for `mfa.required`. False for an API key. */
export async function isSessionByPasskey(tx: Tx, { portal, sessionId }: Caller): Promise<boolean> {
  const session = sessionId === null ? undefined : await readOpenSession(tx, portal, sessionId)
  return session !== undefined && resistsPhishing(session)
}

/** The client has either tokens or a cookie. */
type SessionKind = 'tokens' | 'cookie'

export interface NewSession {
  kind: SessionKind
  signedInBy: SignInMethod
  enrolledPasskey?: boolean
  /** The caller ends it after the sign-in, so it does not count towards the session limit. */
  replaced: SessionId | null
  provider?: ProviderSession | null
}

export interface StartedSession {
  sessionId: SessionId
  /** The refresh token, or the value of the cookie. */
  secret: string
  expiresAt: Instant
  /** Of the key that the client must prove (RFC 9449). Null if the session is bound to the client hash. */
  keyThumbprint: string | null
}

interface StartPorts extends IdentityPorts {
  settings: IdentitySettings
}

/**
 * Returns the session and the statements that start it. The caller must have locked the account's row. Their first
 * result are the sessions that the session limit ended: invalidate them after the commit.
 */
export function startSession(
  { ids, randomness, digest, settings }: StartPorts,
  account: Account,
  { clientHash, clientIp, userAgent, keyProof }: RequestContext,
  now: Instant,
  { kind, replaced, signedInBy, enrolledPasskey = false, provider }: NewSession,
): { started: StartedSession; statements: Statements<[SessionId[], ...unknown[]]> } {
  const { portal, id: accountId } = account
  const ending = {
    portal,
    accountId,
    maxRemaining: account.maxSessions - 1,
    except: replaced,
    reason: 'DISPLACED',
  } as const
  const sessionId = ids.next<'session'>()
  const clientDigest = digest('client-hash', clientHash)
  const expiresAt = addMs(now, settings.sessions.absoluteMs)
  const idleExpiresAt = addMs(now, settings.sessions.idleMs)
  const secret = mintToken(randomness)
  const times = { idleExpiresAt, expiresAt }
  const keyThumbprint = kind === 'tokens' ? (keyProof?.keyThumbprint ?? null) : null
  const cookieDigest = kind === 'cookie' ? digest('session-cookie', secret) : null
  const client = { clientDigest, clientIp, userAgent, cookieDigest, keyThumbprint }
  const { providerId = null, providerSid = null, providerToken = null } = provider ?? {}
  const atProvider = { providerId, providerSid, providerToken }
  const session = { id: sessionId, portal, accountId, ...client, ...times, signedInBy, enrolledPasskey, ...atProvider }
  const first = { digest: digest('refresh-token', secret), portal, sessionId, parent: null, expiresAt }
  const statements = together([
    endOldestSessions(ending, now),
    insertSession(session, now),
    ...(kind === 'tokens' ? [insertRefreshToken(first, now)] : []),
  ] as const)
  return { started: { sessionId, secret, expiresAt, keyThumbprint }, statements }
}

function assertExists(found: SessionConfiguration | undefined): SessionConfiguration {
  if (!found) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account does not exist' })
  return found
}
