import { sql } from 'kysely'
import { type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'

interface Owner {
  portal: Portal
  id: AccountId
}

/**
 * Unlinks identities that were linked after `since`, because a thief may have linked them. Those with which the account was
 * created stay. Returns whether there were any.
 */
export async function unlinkYoungIdentities(
  tx: Tx,
  { portal, id }: Owner,
  since: Instant,
  at: Instant,
): Promise<boolean> {
  const removed = await tx
    .deleteFrom('provider_identities')
    .where('portal', '=', portal)
    .where('accountBizId', '=', id)
    .where('linkedAt', '>', timestamptz(since))
    .where('createdAt', '>', (within) =>
      within.selectFrom('accounts').select('accounts.createdAt').where('portal', '=', portal).where('bizId', '=', id),
    )
    .returning('bizId')
    .execute()
  if (removed.length > 0) await showLinked(tx, portal, id, at)
  return removed.length > 0
}

/** `sso_enabled` shows whether the account has an identity. */
export async function showLinked(tx: Tx, portal: Portal, accountId: AccountId, at: Instant): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({
      ssoEnabled: sql<boolean>`EXISTS (SELECT FROM provider_identities
        WHERE provider_identities.portal = ${portal} AND provider_identities.account_biz_id = ${accountId})`,
      updatedAt: toDate(at),
    })
    .where('portal', '=', portal)
    .where('bizId', '=', accountId)
    .execute()
}
