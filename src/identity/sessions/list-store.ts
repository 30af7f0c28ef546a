import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, Instant, Portal, SessionId } from '../../kernel/index.ts'
import { isRunning } from './running-store.ts'

export interface ActiveSession {
  sessionId: SessionId
  clientIp: string
  userAgent: string
  loginAt: Instant
  lastActivityAt: Instant
}

/** An account's live sessions, the newest first. No account has more than a hundred. */
export const activeSessions = (
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
    .where(isRunning(now))
    .orderBy('login_at', 'desc')
    .orderBy('biz_id', 'desc')
    .execute()
