import { type Instant, toDate } from '../../kernel/index.ts'
import type { Tx } from '../../platform/database/index.ts'
import type { OwnSession } from './own-session.ts'

/** Notes that the session has just proved a second factor; one that has ended stays as it was. */
export const recordStepUp = async (
  tx: Tx,
  { portal, accountId, sessionId }: OwnSession,
  at: Instant,
): Promise<void> => {
  await tx
    .updateTable('sessions')
    .set({ stepped_up_at: toDate(at) })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('biz_id', '=', sessionId)
    .where('ended_at', 'is', null)
    .execute()
}
