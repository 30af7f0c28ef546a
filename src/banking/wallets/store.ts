import type { Database } from '../../database/index.ts'
import type { WorkspaceId } from '../../kernel/index.ts'

/** Returns up to `limit` workspaces after `after` that have no wallet in the currency, in the order of their ids. */
export async function listWorkspacesWithout(
  database: Database,
  { currency, after, limit }: { currency: string; after: WorkspaceId | undefined; limit: number },
): Promise<WorkspaceId[]> {
  let found = database
    .selectFrom('workspaces as o')
    .select('o.bizId as id')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('wallets as w')
            .select('w.bizId')
            .whereRef('w.workspaceBizId', '=', 'o.bizId')
            .where('w.currency', '=', currency),
        ),
      ),
    )
  if (after !== undefined) found = found.where('o.bizId', '>', after)
  const rows = await found.orderBy('o.bizId').limit(limit).execute()
  return rows.map(({ id }) => id)
}
