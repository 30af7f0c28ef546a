import { type Database, type Tx, validAt } from '../../database/index.ts'
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
  const verified = { verified_at: toDate(verifiedAt), expires_at: toDate(expiresAt), spent_by: null }
  await tx
    .insertInto('step_ups')
    .values({ portal, session_biz_id: sessionId, purpose_digest: purposeDigest, ...verified })
    .onConflict((conflict) => conflict.columns(['session_biz_id', 'purpose_digest']).doUpdateSet(verified))
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
    .set({ spent_by: spentBy })
    .where('portal', '=', portal)
    .where('session_biz_id', '=', sessionId)
    .where('purpose_digest', '=', purposeDigest)
    .where('spent_by', 'is', null)
    .where(validAt('verified_at', 'expires_at', now))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('sessions')
          .select('biz_id')
          .where('sessions.portal', '=', portal)
          .where('sessions.account_biz_id', '=', accountId)
          .where('sessions.biz_id', '=', sessionId)
          .where('sessions.ended_at', 'is', null),
      ),
    )
    .returning('verified_at')
    .executeTakeFirst()
  return spent?.verified_at
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
      join.onRef('sessions.biz_id', '=', 'step_ups.session_biz_id').onRef('sessions.portal', '=', 'step_ups.portal'),
    )
    .select([
      'step_ups.purpose_digest as purposeDigest',
      'step_ups.verified_at as verifiedAt',
      'step_ups.spent_by as spentBy',
    ])
    .where('step_ups.portal', '=', portal)
    .where('step_ups.session_biz_id', '=', sessionId)
    .where('sessions.account_biz_id', '=', accountId)
    .where('sessions.ended_at', 'is', null)
    .where(validAt('step_ups.verified_at', 'step_ups.expires_at', now))
    .execute()
}
