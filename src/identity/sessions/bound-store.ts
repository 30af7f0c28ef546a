import { type AccountId, type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import { moment, type Tx } from '../../platform/database/index.ts'
import type { SessionEnd } from '../../platform/database/tables/identity.ts'

export interface Ending {
  portal: Portal
  accountId: AccountId
  /** So many of the newest sessions stay. */
  keep: number
  /** Stays as well, and is not counted. */
  except: SessionId | null
  reason: SessionEnd
}

/** Ends an account's live sessions, the oldest first, down to `keep`. The caller holds the account's row. */
export const endOldestSessions = async (
  tx: Tx,
  { portal, accountId, keep, except, reason }: Ending,
  at: Instant,
): Promise<SessionId[]> => {
  const surplus = tx
    .selectFrom('sessions')
    .select('biz_id')
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', moment(at))
    .where('idle_expires_at', '>', moment(at))
    .$if(except !== null, (query) => query.where('biz_id', 'is distinct from', except))
    .orderBy('login_at', 'desc')
    .orderBy('biz_id', 'desc')
    .offset(keep)
  const ended = await tx
    .updateTable('sessions')
    .set({ ended_at: toDate(at), end_reason: reason })
    .where('biz_id', 'in', surplus)
    .where('ended_at', 'is', null)
    .returning('biz_id')
    .execute()
  return ended.map((row) => row.biz_id)
}
