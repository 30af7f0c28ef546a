import type { Database, Tx } from '../../database/index.ts'
import type { WorkspaceId } from '../../kernel/index.ts'
import type { Wallet } from '../../ledger/index.ts'
import { recordAs } from '../../platform/events/index.ts'

/** Returns up to `limit` workspaces after `after` without an open default wallet in the currency, ordered by id. */
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
            .innerJoin('ledger_accounts as a', (join) =>
              join.onRef('a.bizId', '=', 'w.bizId').onRef('a.workspaceBizId', '=', 'w.workspaceBizId'),
            )
            .select('w.bizId')
            .whereRef('w.workspaceBizId', '=', 'o.bizId')
            .where('w.currency', '=', currency)
            .where('w.isDefault', '=', true)
            .where('a.status', '!=', 'CLOSED'),
        ),
      ),
    )
  if (after !== undefined) found = found.where('o.bizId', '>', after)
  const rows = await found.orderBy('o.bizId').limit(limit).execute()
  return rows.map(({ id }) => id)
}

/** Returns the wallet as a change of its account recorded it, or undefined for another account. */
export function walletOfRecord(tx: Tx, account: unknown): Promise<Wallet | undefined> {
  return tx
    .selectFrom(recordAs('ledger_accounts', account, 'a'))
    .innerJoin('wallets as w', (join) =>
      join.onRef('w.bizId', '=', 'a.bizId').onRef('w.workspaceBizId', '=', 'a.workspaceBizId'),
    )
    .select([
      ...(['w.bizId', 'w.workspaceBizId', 'w.walletName', 'w.currency', 'w.isDefault', 'w.createdAt'] as const),
      ...(['a.status', 'a.updatedAt'] as const),
    ])
    .executeTakeFirst()
}
