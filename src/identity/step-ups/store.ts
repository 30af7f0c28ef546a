import { type Database, type Tx, timestamptz, validAt } from '../../database/index.ts'
import { type Instant, toDate } from '../../kernel/index.ts'
import type { OwnSession } from '../sessions/rules.ts'

/** Replaces an earlier step-up of the session for the same purpose. */
export async function putStepUp(
  tx: Tx,
  { portal, sessionId }: OwnSession,
  purposeDigest: Uint8Array,
  verifiedAt: Instant,
  expiresAt: Instant,
): Promise<void> {
  const verified = { verifiedAt: toDate(verifiedAt), expiresAt: toDate(expiresAt), spentBy: null }
  await tx
    .insertInto('step_ups')
    .values({ portal, sessionBizId: sessionId, purposeDigest: purposeDigest, ...verified })
    .onConflict((conflict) => conflict.columns(['sessionBizId', 'purposeDigest']).doUpdateSet(verified))
    .execute()
}

/** Returns when the step-up was verified, or undefined if none can be spent. Only one caller can spend it. */
export async function spendStepUp(
  tx: Tx,
  { portal, accountId, sessionId }: OwnSession,
  purposeDigest: Uint8Array,
  spentBy: string,
  now: Instant,
): Promise<Instant | undefined> {
  const spent = await tx
    .updateTable('step_ups')
    .set({ spentBy: spentBy })
    .where('portal', '=', portal)
    .where('sessionBizId', '=', sessionId)
    .where('purposeDigest', '=', purposeDigest)
    .where('spentBy', 'is', null)
    .where(validAt('verifiedAt', 'expiresAt', now))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('sessions')
          .select('bizId')
          .where('sessions.portal', '=', portal)
          .where('sessions.accountBizId', '=', accountId)
          .where('sessions.bizId', '=', sessionId)
          .where('sessions.endedAt', 'is', null),
      ),
    )
    .returning('verifiedAt')
    .executeTakeFirst()
  return spent?.verifiedAt
}

/**
 * Lets the step-up that was verified at this time be spent again. A newer one for the same purpose has another time. Returns
 * whether it was spent.
 */
export async function releaseStepUp(
  tx: Tx,
  { portal, sessionId }: OwnSession,
  purposeDigest: Uint8Array,
  verifiedAt: Instant,
): Promise<boolean> {
  const released = await tx
    .updateTable('step_ups')
    .set({ spentBy: null })
    .where('portal', '=', portal)
    .where('sessionBizId', '=', sessionId)
    .where('purposeDigest', '=', purposeDigest)
    .where('verifiedAt', '=', timestamptz(verifiedAt))
    .where('spentBy', 'is not', null)
    .returning('sessionBizId')
    .executeTakeFirst()
  return released !== undefined
}

export interface RecentStepUp {
  purposeDigest: Uint8Array
  verifiedAt: Instant
  spentBy: string | null
}

/** Returns the step-ups of an open session that have not expired, spent or not. */
export function recentStepUps(
  store: Database | Tx,
  { portal, accountId, sessionId }: OwnSession,
  now: Instant,
): Promise<RecentStepUp[]> {
  return store
    .selectFrom('step_ups')
    .innerJoin('sessions', (join) =>
      join.onRef('sessions.bizId', '=', 'step_ups.sessionBizId').onRef('sessions.portal', '=', 'step_ups.portal'),
    )
    .select(['step_ups.purposeDigest', 'step_ups.verifiedAt', 'step_ups.spentBy'])
    .where('step_ups.portal', '=', portal)
    .where('step_ups.sessionBizId', '=', sessionId)
    .where('sessions.accountBizId', '=', accountId)
    .where('sessions.endedAt', 'is', null)
    .where(validAt('step_ups.verifiedAt', 'step_ups.expiresAt', now))
    .execute()
}
