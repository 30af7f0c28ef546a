import { type RawBuilder, type SqlBool, sql } from 'kysely'
import {
  type Database,
  type Param,
  type Statements,
  statement,
  type Tx,
  timestamptz,
  validAt,
} from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type Instant,
  type Permission,
  type Portal,
  type SessionId,
  toDate,
} from '../../kernel/index.ts'
import type { SessionEndReason } from './schema.ts'

/**
 * The session may have expired; see `hasExpired`.
 */
export interface OpenSession {
  id: SessionId
  portal: Portal
  accountId: AccountId
  accountStatus: AccountStatus
  ipWhitelistEnabled: boolean
  operatorPermissions: Permission[]
  steppedUpAt: Instant | null
  lastActivityAt: Instant
  idleExpiresAt: Instant
  expiresAt: Instant
}

const columns = [
  'sessions.biz_id as id',
  'sessions.portal',
  'accounts.biz_id as accountId',
  'accounts.account_status as accountStatus',
  'accounts.ip_whitelist_enabled as ipWhitelistEnabled',
  'accounts.operator_permissions as operatorPermissions',
  'sessions.stepped_up_at as steppedUpAt',
  'sessions.last_activity_at as lastActivityAt',
  'sessions.idle_expires_at as idleExpiresAt',
  'sessions.expires_at as expiresAt',
] as const

const findOpenSession = statement((store, param: Param<{ portal: Portal; id: SessionId }>) =>
  store
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.biz_id', '=', 'sessions.account_biz_id').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .select(columns)
    .where('sessions.portal', '=', param('portal'))
    .where('sessions.biz_id', '=', param('id'))
    .where('sessions.ended_at', 'is', null),
)

export function readOpenSession(store: Database | Tx, portal: Portal, id: SessionId): Promise<OpenSession | undefined> {
  return findOpenSession.first(store, { portal, id })
}

/**
 * Finds the session of a refresh token, which may be used, and the token's digest. The lock serializes token refreshes.
 */
export function lockSessionOfToken(
  tx: Tx,
  portal: Portal,
  tokenDigests: readonly Uint8Array[],
  clientDigests: readonly Uint8Array[],
): Promise<(OpenSession & { tokenDigest: Uint8Array }) | undefined> {
  return tx
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.biz_id', '=', 'sessions.account_biz_id').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .innerJoin('refresh_tokens', (join) =>
      join
        .onRef('refresh_tokens.session_biz_id', '=', 'sessions.biz_id')
        .onRef('refresh_tokens.portal', '=', 'sessions.portal'),
    )
    .select([...columns, 'refresh_tokens.token_digest as tokenDigest'])
    .where('sessions.portal', '=', portal)
    .where('refresh_tokens.token_digest', 'in', tokenDigests)
    .where('sessions.client_digest', 'in', clientDigests)
    .where('sessions.ended_at', 'is', null)
    .forNoKeyUpdate('sessions')
    .executeTakeFirst()
}

export interface NewSession {
  id: SessionId
  portal: Portal
  accountId: AccountId
  clientDigest: Uint8Array
  clientIp: string
  userAgent: string
  idleExpiresAt: Instant
  expiresAt: Instant
}

type Times = 'idleExpiresAt' | 'expiresAt'
type InsertedSession = Omit<NewSession, Times> & Record<Times | 'now', Date>

const insertRow = statement((store, param: Param<InsertedSession>) =>
  store.insertInto('sessions').values({
    biz_id: param('id'),
    portal: param('portal'),
    account_biz_id: param('accountId'),
    client_digest: param('clientDigest'),
    client_ip: param('clientIp'),
    user_agent: param('userAgent'),
    login_at: param('now'),
    last_activity_at: param('now'),
    idle_expires_at: param('idleExpiresAt'),
    expires_at: param('expiresAt'),
    stepped_up_at: null,
    ended_at: null,
    end_reason: null,
  }),
)

/** A sign-in does not count as a step-up. */
export function insertSession(session: NewSession, at: Instant): Statements<unknown> {
  const { idleExpiresAt, expiresAt } = session
  const times = { now: toDate(at), idleExpiresAt: toDate(idleExpiresAt), expiresAt: toDate(expiresAt) }
  return insertRow.with({ ...session, ...times })
}

/** Returns whether the session was open. */
export async function endSession(
  tx: Tx,
  session: { portal: Portal; accountId: AccountId; id: SessionId },
  reason: SessionEndReason,
  at: Instant,
): Promise<boolean> {
  const ended = await tx
    .updateTable('sessions')
    .set({ ended_at: toDate(at), end_reason: reason })
    .where('portal', '=', session.portal)
    .where('account_biz_id', '=', session.accountId)
    .where('biz_id', '=', session.id)
    .where('ended_at', 'is', null)
    .returning('biz_id')
    .executeTakeFirst()
  return ended !== undefined
}

export interface ActiveSession {
  sessionId: SessionId
  clientIp: string
  userAgent: string
  loginAt: Instant
  lastActivityAt: Instant
}

/** Newest first, at most 100. */
export function listActiveSessions(
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
  now: Instant,
): Promise<ActiveSession[]> {
  return store
    .selectFrom('sessions')
    .select([
      'biz_id as sessionId',
      'client_ip as clientIp',
      'user_agent as userAgent',
      'login_at as loginAt',
      'last_activity_at as lastActivityAt',
    ])
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('ended_at', 'is', null)
    .where(isUnexpired(now))
    .orderBy('login_at', 'desc')
    .orderBy('biz_id', 'desc')
    .execute()
}

export interface SessionConfiguration {
  accountId: AccountId
  ssoEnabled: boolean
  maxSessions: number
  passwordChangedAt: Instant | null
  lastLoginAt: Instant | null
  lastLoginIp: string | null
}

export function readSessionConfiguration(
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
): Promise<SessionConfiguration | undefined> {
  return store
    .selectFrom('accounts')
    .select([
      'biz_id as accountId',
      'sso_enabled as ssoEnabled',
      'max_sessions as maxSessions',
      'password_changed_at as passwordChangedAt',
      'last_login_at as lastLoginAt',
      'last_login_ip as lastLoginIp',
    ])
    .where('portal', '=', portal)
    .where('biz_id', '=', accountId)
    .executeTakeFirst()
}

export async function setMaxSessions(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  maxSessions: number,
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({ max_sessions: maxSessions, updated_at: toDate(at) })
    .where('portal', '=', portal)
    .where('biz_id', '=', accountId)
    .execute()
}

export interface SessionsToEnd {
  portal: Portal
  accountId: AccountId
  /** Number of newest sessions that stay open. */
  maxRemaining: number
  /** A session that also stays open and does not count towards `maxRemaining`. */
  except: SessionId | null
  reason: SessionEndReason
}

const updateOldest = statement((store, param: Param<SessionsToEnd & { now: Date }>) =>
  store
    .updateTable('sessions')
    .set({ ended_at: param('now'), end_reason: param('reason') })
    .where('portal', '=', param('portal'))
    .where('account_biz_id', '=', param('accountId'))
    .where('ended_at', 'is', null)
    .where('biz_id', 'is distinct from', sql<SessionId>`${param('except')}::uuid`)
    .where('biz_id', 'not in', (within) =>
      within
        .selectFrom('sessions')
        .select('biz_id')
        .where('portal', '=', param('portal'))
        .where('account_biz_id', '=', param('accountId'))
        .where('ended_at', 'is', null)
        .where(isUnexpired(param('now')))
        .where('biz_id', 'is distinct from', sql<SessionId>`${param('except')}::uuid`)
        .orderBy('login_at', 'desc')
        .orderBy('biz_id', 'desc')
        .limit(param('maxRemaining')),
    )
    .returning(['biz_id', isUnexpired(param('now')).as('wasActive')]),
)

/**
 * Returns the ended sessions that were active. Also ends expired sessions, which would become valid again after a fast
 * clock is corrected. The caller must have locked the account's row.
 */
export function endOldestSessions(ending: SessionsToEnd, at: Instant): Statements<SessionId[]> {
  return updateOldest
    .with({ ...ending, now: toDate(at) })
    .map((ended) => ended.filter((row) => row.wasActive).map((row) => row.biz_id))
}

/** Returns the SQL predicate for a session that has not expired. `hasExpired` in rules.ts implements the same rule. */
function isUnexpired(now: Instant | RawBuilder<Date>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(expires_at > ${timestamptz(now)} AND ${validAt('last_activity_at', 'idle_expires_at', now)})`
}
