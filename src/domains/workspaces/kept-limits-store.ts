import type { Tx } from '../../database/index.ts'
import type { AccountId, WorkspaceId } from '../../kernel/index.ts'

interface Member {
  workspaceId: WorkspaceId
  accountId: AccountId
}

/** Keeps what a membership was limited to beyond its end: by leaving and being invited again it would be lifted. */
export const keepLimits = async (tx: Tx, { workspaceId, accountId }: Member, policyConfig: unknown): Promise<void> => {
  const limits = {
    workspace_biz_id: workspaceId,
    account_biz_id: accountId,
    policy_config: JSON.stringify(policyConfig),
  }
  // A row may exist: a membership that is added while the previous one is being removed does not see its limits.
  await tx
    .insertInto('membership_limits_kept')
    .values(limits)
    .onConflict((conflict) =>
      conflict.columns(['workspace_biz_id', 'account_biz_id']).doUpdateSet({ policy_config: limits.policy_config }),
    )
    .execute()
}

/** Hands over what was kept of a member who comes back; null where they were not limited, or were never there. */
export const takeLimits = async (tx: Tx, { workspaceId, accountId }: Member): Promise<unknown> => {
  const kept = await tx
    .deleteFrom('membership_limits_kept')
    .where('workspace_biz_id', '=', workspaceId)
    .where('account_biz_id', '=', accountId)
    .returning('policy_config')
    .executeTakeFirst()
  return kept?.policy_config ?? null
}
