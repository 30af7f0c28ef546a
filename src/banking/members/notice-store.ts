import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, WorkspaceId } from '../../kernel/index.ts'

/** Maximum number of owners who get a notice. */
const maxRecipients = 100

export async function ownersOf(tx: Tx, workspaceId: WorkspaceId): Promise<AccountId[]> {
  const rows = await tx
    .selectFrom('memberships as m')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )
    .where('m.workspace_biz_id', '=', workspaceId)
    .where('r.role_type', '=', 'OWNER')
    .where('m.suspended_at', 'is', null)
    .select('m.account_biz_id as accountId')
    .orderBy('m.created_at')
    .orderBy('m.account_biz_id')
    .limit(maxRecipients)
    .execute()
  return rows.map(({ accountId }) => accountId)
}

export function personById(
  database: Database,
  id: AccountId,
): Promise<{ email: string; language: string } | undefined> {
  return database
    .selectFrom('accounts')
    .select(['email', 'default_language as language'])
    .where('biz_id', '=', id)
    .executeTakeFirst()
}

export async function workspaceName(database: Database, id: WorkspaceId): Promise<string | undefined> {
  return (await database.selectFrom('workspaces').select('workspace_name').where('biz_id', '=', id).executeTakeFirst())
    ?.workspace_name
}
