import { query, type Statements, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import type { OwnSession } from './rules.ts'

/** Does nothing if the session has ended or expired, or has later activity. */
export function recordActivity(
  session: { portal: Portal; id: SessionId },
  at: Instant,
  idleExpiresAt: Instant,
): Statements<unknown> {
  return query((store) =>
    store
      .updateTable('sessions')
      .set({ last_activity_at: toDate(at), idle_expires_at: toDate(idleExpiresAt) })
      .where('portal', '=', session.portal)
      .where('biz_id', '=', session.id)
      .where('ended_at', 'is', null)
      .where('idle_expires_at', '>', timestamptz(at))
      .where('last_activity_at', '<', timestamptz(at)),
  )
}

export async function recordStepUp(tx: Tx, { portal, accountId, sessionId }: OwnSession, at: Instant): Promise<void> {
  await tx
    .updateTable('sessions')
    .set({ stepped_up_at: toDate(at) })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('biz_id', '=', sessionId)
    .where('ended_at', 'is', null)
    .execute()
}
