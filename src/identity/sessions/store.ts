import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, type Param, statement, type Tx, timestamptz, validAt } from '../../database/index.ts'
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

/** SQL condition for a session that has not expired: the same rule as `hasExpired` in rules.ts. */
const isUnexpired = (now: Instant | RawBuilder<Date>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(expires_at > ${timestamptz(now)} AND ${validAt('last_activity_at', 'idle_expires_at', now)})`

/** A session that has not ended, with the current rights of its account. It may have expired; see `hasExpired`. */
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

/** Returns a session that has not ended. */
export const readOpenSession = (database: Database, portal: Portal, id: SessionId): Promise<OpenSession | undefined> =>
  findOpenSession.first(database, { portal, id })

/** Returns a client's open session and locks its row. The lock serializes token refreshes. */
export const lockOpenSession = (
  tx: Tx,
  portal: Portal,
  id: SessionId,
  clientDigest: Uint8Array,
): Promise<OpenSession | undefined> =>
  tx
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.biz_id', '=', 'sessions.account_biz_id').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .select(columns)
    .where('sessions.portal', '=', portal)
    .where('sessions.biz_id', '=', id)
    .where('sessions.client_digest', '=', clientDigest)
    .where('sessions.ended_at', 'is', null)
    .forNoKeyUpdate('sessions')
    .executeTakeFirst()

/** A session to insert. */
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
    stepped_up_at: param('now'),
    ended_at: null,
    end_reason: null,
  }),
)

/** Inserts a session. A sign-in counts as a step-up. */
export const insertSession = async (tx: Tx, session: NewSession, at: Instant): Promise<void> => {
  const { idleExpiresAt, expiresAt } = session
  const times = { now: toDate(at), idleExpiresAt: toDate(idleExpiresAt), expiresAt: toDate(expiresAt) }
  await insertRow.all(tx, { ...session, ...times })
}

/** Ends a session of an account. Returns whether it was open. */
export const endSession = async (
  tx: Tx,
  session: { portal: Portal; accountId: AccountId; id: SessionId },
  reason: SessionEndReason,
  at: Instant,
): Promise<boolean> => {
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

/** A session in the list of active sessions. */
export interface ActiveSession {
  sessionId: SessionId
  clientIp: string
  userAgent: string
  loginAt: Instant
  lastActivityAt: Instant
}

/** Returns an account's active sessions, newest first. There are at most 100, the highest session limit. */
export const listActiveSessions = (
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
  now: Instant,
): Promise<ActiveSession[]> =>
  store
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

/** The session settings of an account, and its last sign-in. */
export interface SessionConfiguration {
  accountId: AccountId
  ssoEnabled: boolean
  maxSessions: number
  passwordChangedAt: Instant | null
  lastLoginAt: Instant | null
  lastLoginIp: string | null
}

/** Returns the session configuration of an account. */
export const readSessionConfiguration = (
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
): Promise<SessionConfiguration | undefined> =>
  store
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

/** Sets the session limit of an account. Does not end sessions above it. */
export const setMaxSessions = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  maxSessions: number,
  at: Instant,
): Promise<void> => {
  await tx
    .updateTable('accounts')
    .set({ max_sessions: maxSessions, updated_at: toDate(at) })
    .where('portal', '=', portal)
    .where('biz_id', '=', accountId)
    .execute()
}

/** Which sessions of an account end, and why. */
export interface SessionsToEnd {
  portal: Portal
  accountId: AccountId
  /** Number of newest sessions that stay open. */
  maxRemaining: number
  /** A session that stays open in addition. */
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
 * Ends an account's oldest sessions, down to `maxRemaining`. Returns those that were active. Expired sessions end as well:
 * they would become valid again after a fast clock is corrected. The caller must have locked the account's row.
 */
export const endOldestSessions = async (tx: Tx, ending: SessionsToEnd, at: Instant): Promise<SessionId[]> => {
  const ended = await updateOldest.all(tx, { ...ending, now: toDate(at) })
  return ended.filter((row) => row.wasActive).map((row) => row.biz_id)
}

/** Ends all sessions of an account. Returns those that were active. */
export const endSessions = (
  tx: Tx,
  { portal, id }: { portal: Portal; id: AccountId },
  reason: SessionEndReason,
  at: Instant,
): Promise<SessionId[]> => endOldestSessions(tx, { portal, accountId: id, maxRemaining: 0, except: null, reason }, at)

/** Records the client of a sign-in. Returns whether the account has not used it before. */
export const recordDevice = async (
  tx: Tx,
  accountId: AccountId,
  clientDigest: Uint8Array,
  at: Instant,
): Promise<boolean> => {
  const { isNew } = await tx
    .insertInto('known_devices')
    .values({
      account_biz_id: accountId,
      client_digest: clientDigest,
      first_seen_at: toDate(at),
      last_seen_at: toDate(at),
    })
    .onConflict((conflict) =>
      conflict.columns(['account_biz_id', 'client_digest']).doUpdateSet({ last_seen_at: toDate(at) }),
    )
    // xmax is 0 for an inserted row, and not 0 for an updated one.
    .returning(sql<boolean>`xmax = 0`.as('isNew'))
    .executeTakeFirstOrThrow()
  return isNew
}
