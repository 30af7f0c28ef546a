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
      .set({ lastActivityAt: toDate(at), idleExpiresAt: toDate(idleExpiresAt) })
      .where('portal', '=', session.portal)
      .where('bizId', '=', session.id)
      .where('endedAt', 'is', null)
      .where('idleExpiresAt', '>', timestamptz(at))
      .where('lastActivityAt', '<', timestamptz(at)),
  )
}

export async function recordStepUp(tx: Tx, { portal, accountId, sessionId }: OwnSession, at: Instant): Promise<void> {
  await tx
    .updateTable('sessions')
    .set({ steppedUpAt: toDate(at) })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('bizId', '=', sessionId)
    .where('endedAt', 'is', null)
    .execute()
}
