import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'

/** interface.md 2.9, before it is rendered. */
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
