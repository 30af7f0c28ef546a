import type { Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'

/** Holds the account's memberships, so that no two calls name a default at once. */
export const makeDefault = async (
  tx: Tx,
  accountId: AccountId,
  workspaceId: WorkspaceId,
  at: Instant,
): Promise<void> => {
  await tx
    .selectFrom('memberships')
    .select('workspace_biz_id')
    .where('account_biz_id', '=', accountId)
    .orderBy('workspace_biz_id')
    .forUpdate()
    .execute()
  const mine = tx.updateTable('memberships').where('account_biz_id', '=', accountId)
  const now = toDate(at)
  await mine
    .set({ is_default: false, updated_at: now })
    .where('is_default', '=', true)
    .where('workspace_biz_id', '!=', workspaceId)
    .execute()
  await mine
    .set({ is_default: true, updated_at: now })
    .where('is_default', '=', false)
    .where('workspace_biz_id', '=', workspaceId)
    .execute()
}
