import type { Database, Tx } from '../../database/index.ts'
import { type Instant, toDate } from '../../kernel/index.ts'
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

/** When it last proved one; null where it never has, or has ended. */
export const lastStepUp = async (
  database: Database | Tx,
  { portal, accountId, sessionId }: OwnSession,
): Promise<Instant | null> => {
  const row = await database
    .selectFrom('sessions')
    .select('stepped_up_at')
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('biz_id', '=', sessionId)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return row?.stepped_up_at ?? null
}
