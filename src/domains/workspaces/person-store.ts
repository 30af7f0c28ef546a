import type { AccountId, WorkspaceId } from '../../kernel/index.ts'
import type { Tx } from '../../platform/database/index.ts'

/** Whether the person that an account is of belongs to a workspace: by it, or by one at the other portal, of the same address. */
export const hasPerson = async (tx: Tx, workspaceId: WorkspaceId, accountId: AccountId): Promise<boolean> => {
  const found = await tx
    .selectFrom('memberships as m')
    .innerJoin('accounts as member', 'member.biz_id', 'm.account_biz_id')
    .innerJoin('accounts as asking', 'asking.email_canonical', 'member.email_canonical')
    .select('m.account_biz_id')
    .where('m.workspace_biz_id', '=', workspaceId)
    .where('asking.biz_id', '=', accountId)
    .executeTakeFirst()
  return found !== undefined
}
