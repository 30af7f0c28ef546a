import { sql } from 'kysely'
import { type Database, type Param, statement, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import type { SessionEndReason } from './schema.ts'
import { isUnexpired } from './store.ts'

/** The session settings of an account, and its last sign-in. */
export interface SessionConfiguration {
  accountId: AccountId
  ssoEnabled: boolean
  maxSessions: number
  passwordChangedAt: Instant | null
  lastLoginAt: Instant | null
  lastLoginIp: string | null
}

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

export interface SessionsToEnd {
  portal: Portal
  accountId: AccountId
  /** Number of newest sessions to keep. */
  keep: number
  /** A session to keep in addition. */
  except: SessionId | null
  reason: SessionEndReason
}

const updateOldest = statement((store, given: Param<SessionsToEnd & { now: Date }>) =>
  store
    .updateTable('sessions')
    .set({ ended_at: given('now'), end_reason: given('reason') })
    .where('portal', '=', given('portal'))
    .where('account_biz_id', '=', given('accountId'))
    .where('ended_at', 'is', null)
    .where('biz_id', 'is distinct from', sql<SessionId>`${given('except')}::uuid`)
    .where('biz_id', 'not in', (within) =>
      within
        .selectFrom('sessions')
        .select('biz_id')
        .where('portal', '=', given('portal'))
        .where('account_biz_id', '=', given('accountId'))
        .where('ended_at', 'is', null)
        .where(isUnexpired(given('now')))
        .where('biz_id', 'is distinct from', sql<SessionId>`${given('except')}::uuid`)
        .orderBy('login_at', 'desc')
        .orderBy('biz_id', 'desc')
        .limit(given('keep')),
    )
    .returning(['biz_id', isUnexpired(given('now')).as('wasActive')]),
)

/**
 * Ends an account's oldest sessions, down to `keep`. Returns those that were active. Expired sessions are ended as well:
 * they would be valid again after a clock that ran ahead is corrected. The caller must have locked the account's row.
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
): Promise<SessionId[]> => endOldestSessions(tx, { portal, accountId: id, keep: 0, except: null, reason }, at)
