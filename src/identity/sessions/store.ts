import { type Database, type Given, moment, statement, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type Instant,
  type Permission,
  type Portal,
  type SessionId,
  toDate,
} from '../../kernel/index.ts'
import type { SessionEnd } from './schema.ts'

/** A session that has not ended, with what its account may do today. Whether its times have run out is judged later. */
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

const openSession = statement((store, given: Given<{ portal: Portal; id: SessionId }>) =>
  store
    .selectFrom('sessions')
    .innerJoin('accounts', (join) =>
      join.onRef('accounts.biz_id', '=', 'sessions.account_biz_id').onRef('accounts.portal', '=', 'sessions.portal'),
    )
    .select(columns)
    .where('sessions.portal', '=', given('portal'))
    .where('sessions.biz_id', '=', given('id'))
    .where('sessions.ended_at', 'is', null),
)

export const readOpenSession = (database: Database, portal: Portal, id: SessionId): Promise<OpenSession | undefined> =>
  openSession.first(database, { portal, id })

/** Reads a client's open session and holds its row until the transaction ends; whatever changes the family takes turns. */
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
type Beginning = Omit<NewSession, Times> & Record<Times | 'now', Date>

const beginning = statement((store, given: Given<Beginning>) =>
  store.insertInto('sessions').values({
    biz_id: given('id'),
    portal: given('portal'),
    account_biz_id: given('accountId'),
    client_digest: given('clientDigest'),
    client_ip: given('clientIp'),
    user_agent: given('userAgent'),
    login_at: given('now'),
    last_activity_at: given('now'),
    idle_expires_at: given('idleExpiresAt'),
    expires_at: given('expiresAt'),
    stepped_up_at: given('now'),
    ended_at: null,
    end_reason: null,
  }),
)

/** A session begins with a second factor just proved. */
export const insertSession = async (tx: Tx, session: NewSession, at: Instant): Promise<void> => {
  const { idleExpiresAt, expiresAt } = session
  const times = { now: toDate(at), idleExpiresAt: toDate(idleExpiresAt), expiresAt: toDate(expiresAt) }
  await beginning.all(tx, { ...session, ...times })
}

/** Writes activity down; a session that has ended or run out stays so. */
export const recordActivity = async (
  store: Database | Tx,
  session: { portal: Portal; id: SessionId },
  at: Instant,
  idleExpiresAt: Instant,
): Promise<void> => {
  await store
    .updateTable('sessions')
    .set({ last_activity_at: toDate(at), idle_expires_at: toDate(idleExpiresAt) })
    .where('portal', '=', session.portal)
    .where('biz_id', '=', session.id)
    .where('ended_at', 'is', null)
    .where('idle_expires_at', '>', moment(at))
    .where('last_activity_at', '<', moment(at))
    .execute()
}

/** Ends one session of an account; whether it was open. */
export const endSession = async (
  tx: Tx,
  session: { portal: Portal; accountId: AccountId; id: SessionId },
  reason: SessionEnd,
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
