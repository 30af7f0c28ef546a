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
import { recordAs } from '../../platform/events/index.ts'
import type { SessionEndReason, SignInMethod } from './schema.ts'

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
  clientDigest: Uint8Array
  /** Null for a session that has tokens. */
  cookieDigest: Uint8Array | null
  signedInBy: SignInMethod | null
  /** Whether the passkey of the sign-in was enrolled. */
  enrolledPasskey: boolean
  /** Null unless the client proves a key. */
  keyThumbprint: string | null
}

const columns = [
  'sessions.bizId as id',
  'sessions.portal',
  'accounts.bizId as accountId',
  'accounts.accountStatus',
  'accounts.ipWhitelistEnabled',
  'accounts.operatorPermissions',
  'sessions.steppedUpAt',
  'sessions.lastActivityAt',
  'sessions.idleExpiresAt',
  'sessions.expiresAt',
  'sessions.clientDigest',
  'sessions.cookieDigest',
  'sessions.signedInBy',
  'sessions.enrolledPasskey',
  'sessions.keyThumbprint',
] as const

const findOpenSession = statement((store, param: Param<{ portal: Portal; id: SessionId }>) =>
  store
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.bizId', '=', 'sessions.accountBizId').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .select(columns)
    .where('sessions.portal', '=', param('portal'))
    .where('sessions.bizId', '=', param('id'))
    .where('sessions.endedAt', 'is', null),
)

const findOpenSessions = statement((store, param: Param<{ portals: Portal[]; ids: SessionId[] }>) =>
  store
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.bizId', '=', 'sessions.accountBizId').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .select(columns)
    .where(
      sql<SqlBool>`(sessions.portal, sessions.biz_id) IN (
        SELECT * FROM unnest(${param('portals')}::text[], ${param('ids')}::uuid[]))`,
    )
    .where('sessions.endedAt', 'is', null),
)

export type SessionKey = Pick<OpenSession, 'portal' | 'id'>

export function readOpenSessions(store: Database, keys: readonly SessionKey[]): Promise<OpenSession[]> {
  const [portals, ids] = [keys.map(({ portal }) => portal), keys.map(({ id }) => id)]
  return findOpenSessions.all(store, { portals, ids })
}

export function readOpenSession(store: Database | Tx, portal: Portal, id: SessionId): Promise<OpenSession | undefined> {
  return findOpenSession.first(store, { portal, id })
}

/** Returns the session as a change recorded it. */
export function sessionOfRecord(tx: Tx, record: unknown) {
  return tx
    .selectFrom(recordAs('sessions', record, 's'))
    .select(['bizId as id', 'accountBizId as accountId', 'portal', 'loginAt', 'endedAt', 'endReason'])
    .executeTakeFirstOrThrow()
}

/**
 * Finds the session of a refresh token, which may be used, and the token's digest. The client must prove the key of the
 * session, or have its client hash if it has no key. The lock serializes token refreshes.
 */
export function lockSessionOfToken(
  tx: Tx,
  portal: Portal,
  tokenDigests: readonly Uint8Array[],
  client: { digests: readonly Uint8Array[]; keyThumbprint: string | null },
): Promise<(OpenSession & { tokenDigest: Uint8Array }) | undefined> {
  return tx
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.bizId', '=', 'sessions.accountBizId').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .innerJoin('refresh_tokens', (join) =>
      join
        .onRef('refresh_tokens.sessionBizId', '=', 'sessions.bizId')
        .onRef('refresh_tokens.portal', '=', 'sessions.portal'),
    )
    .select([...columns, 'refresh_tokens.tokenDigest'])
    .where('sessions.portal', '=', portal)
    .where('refresh_tokens.tokenDigest', 'in', tokenDigests)
    .where(({ eb }) =>
      client.keyThumbprint === null
        ? eb.and([eb('sessions.keyThumbprint', 'is', null), eb('sessions.clientDigest', 'in', client.digests)])
        : eb('sessions.keyThumbprint', '=', client.keyThumbprint),
    )
    .where('sessions.endedAt', 'is', null)
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
  cookieDigest: Uint8Array | null
  keyThumbprint: string | null
  signedInBy: SignInMethod
  enrolledPasskey: boolean
  providerId: string | null
  providerSid: string | null
  providerToken: Uint8Array | null
}

/** The session at the identity provider that authenticated the person. */
export interface ProviderSession {
  providerId: string
  providerSid: string | null
  /** The sealed ID token. */
  providerToken: Uint8Array | null
}

type Times = 'idleExpiresAt' | 'expiresAt'
type InsertedSession = Omit<NewSession, Times> & Record<Times | 'now', Date>

const insertRow = statement((store, param: Param<InsertedSession>) =>
  store.insertInto('sessions').values({
    bizId: param('id'),
    portal: param('portal'),
    accountBizId: param('accountId'),
    clientDigest: param('clientDigest'),
    clientIp: param('clientIp'),
    userAgent: param('userAgent'),
    loginAt: param('now'),
    lastActivityAt: param('now'),
    idleExpiresAt: param('idleExpiresAt'),
    expiresAt: param('expiresAt'),
    steppedUpAt: null,
    endedAt: null,
    endReason: null,
    cookieDigest: param('cookieDigest'),
    keyThumbprint: param('keyThumbprint'),
    signedInBy: param('signedInBy'),
    enrolledPasskey: param('enrolledPasskey'),
    providerId: param('providerId'),
    providerSid: param('providerSid'),
    providerToken: param('providerToken'),
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
    .set({ endedAt: toDate(at), endReason: reason })
    .where('portal', '=', session.portal)
    .where('accountBizId', '=', session.accountId)
    .where('bizId', '=', session.id)
    .where('endedAt', 'is', null)
    .returning('bizId')
    .executeTakeFirst()
  return ended !== undefined
}

/** Ends the sessions that were started with a passkey. Returns them. */
export async function endPasskeySessions(
  tx: Tx,
  { portal, accountId, except }: { portal: Portal; accountId: AccountId; except: SessionId | null },
  at: Instant,
): Promise<SessionId[]> {
  const ended = await tx
    .updateTable('sessions')
    .set({ endedAt: toDate(at), endReason: 'TERMINATED' })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('signedInBy', '=', 'PASSKEY')
    .where('endedAt', 'is', null)
    .where('bizId', 'is distinct from', except)
    .returning('bizId')
    .execute()
  return ended.map(({ bizId }) => bizId)
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
    .select(['bizId as sessionId', 'clientIp', 'userAgent', 'loginAt', 'lastActivityAt'])
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('endedAt', 'is', null)
    .where(isUnexpired(now))
    .orderBy('loginAt', 'desc')
    .orderBy('bizId', 'desc')
    .execute()
}

/** Of each portal. */
export async function countOpenSessions(
  database: Database,
  portals: readonly Portal[],
  now: Instant,
): Promise<ReadonlyMap<Portal, number>> {
  const counts = await database
    .selectFrom('sessions')
    .select(['portal', (eb) => eb.fn.countAll<number>().as('open')])
    .where('portal', 'in', portals)
    .where('endedAt', 'is', null)
    .where(isUnexpired(now))
    .groupBy('portal')
    .execute()
  return new Map(portals.map((portal) => [portal, counts.find((each) => each.portal === portal)?.open ?? 0]))
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
    .select(['bizId as accountId', 'ssoEnabled', 'maxSessions', 'passwordChangedAt', 'lastLoginAt', 'lastLoginIp'])
    .where('portal', '=', portal)
    .where('bizId', '=', accountId)
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
    .set({ maxSessions: maxSessions, updatedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('bizId', '=', accountId)
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
    .set({ endedAt: param('now'), endReason: param('reason') })
    .where('portal', '=', param('portal'))
    .where('accountBizId', '=', param('accountId'))
    .where('endedAt', 'is', null)
    .where('bizId', 'is distinct from', sql<SessionId>`${param('except')}::uuid`)
    .where('bizId', 'not in', (within) =>
      within
        .selectFrom('sessions')
        .select('bizId')
        .where('portal', '=', param('portal'))
        .where('accountBizId', '=', param('accountId'))
        .where('endedAt', 'is', null)
        .where(isUnexpired(param('now')))
        .where('bizId', 'is distinct from', sql<SessionId>`${param('except')}::uuid`)
        .orderBy('loginAt', 'desc')
        .orderBy('bizId', 'desc')
        .limit(param('maxRemaining')),
    )
    .returning(['bizId', isUnexpired(param('now')).as('wasActive')]),
)

/**
 * Returns the ended sessions that were active. Also ends expired sessions, which would become valid again after a fast
 * clock is corrected. The caller must have locked the account's row.
 */
export function endOldestSessions(ending: SessionsToEnd, at: Instant): Statements<SessionId[]> {
  return updateOldest
    .with({ ...ending, now: toDate(at) })
    .map((ended) => ended.filter((row) => row.wasActive).map((row) => row.bizId))
}

/** Returns the SQL predicate for a session that has not expired. `hasExpired` in rules.ts implements the same rule. */
function isUnexpired(now: Instant | RawBuilder<Date>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(expires_at > ${timestamptz(now)} AND ${validAt('lastActivityAt', 'idleExpiresAt', now)})`
}
