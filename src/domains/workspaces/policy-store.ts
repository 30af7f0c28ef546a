import type { Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'

export type PolicyConfig = {
  enterable?: boolean | undefined
  defaultEligible?: boolean | undefined
  readOnly?: boolean | undefined
}

/** A membership that may no longer be the default stops being it. */
export const setPolicy = async (
  tx: Tx,
  member: { accountId: AccountId; workspaceId: WorkspaceId },
  policyConfig: PolicyConfig | null,
  mayBeDefault: boolean,
  at: Instant,
): Promise<void> => {
  await tx
    .updateTable('memberships')
    .set({
      policy_config: policyConfig && JSON.stringify(policyConfig),
      updated_at: toDate(at),
      ...(!mayBeDefault && { is_default: false }),
    })
    .where('account_biz_id', '=', member.accountId)
    .where('workspace_biz_id', '=', member.workspaceId)
    .execute()
}
