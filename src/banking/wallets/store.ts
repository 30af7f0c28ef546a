import type { Database } from '../../database/index.ts'
import type { WorkspaceId } from '../../kernel/index.ts'

/** Returns up to `limit` workspaces after `after` that have no wallet in the currency, in the order of their ids. */
export async function listWorkspacesWithout(
  database: Database,
  { currency, after, limit }: { currency: string; after: WorkspaceId | undefined; limit: number },
): Promise<WorkspaceId[]> {
  let found = database
    .selectFrom('workspaces as o')
    .select('o.biz_id as id')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('wallets as w')
            .select('w.biz_id')
            .whereRef('w.workspace_biz_id', '=', 'o.biz_id')
            .where('w.currency', '=', currency),
        ),
      ),
    )
  if (after !== undefined) found = found.where('o.biz_id', '>', after)
  const rows = await found.orderBy('o.biz_id').limit(limit).execute()
  return rows.map(({ id }) => id)
}
