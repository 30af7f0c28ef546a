import { sql } from 'kysely'
import type { Database } from '../database/index.ts'

/**
 * What the house has put into its liquidity so far. Keeps the account locked, so that replicas take turns, and every exchange of
 * the currency waits: the few openings have an index, which is found by the word itself, among all that was exchanged.
 */
export const lockLiquidity = async (tx: Database, currency: string): Promise<bigint | undefined> => {
  const account = await tx
    .selectFrom('ledger_accounts')
    .where('workspace_biz_id', 'is', null)
    .where('kind', '=', 'LIQUIDITY')
    .where('currency', '=', currency)
    .select('biz_id')
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!account) return undefined
  const { put } = await tx
    .selectFrom('ledger_entries')
    .where('account_biz_id', '=', account.biz_id)
    .where('flow_type', '=', sql.lit('OPENING'))
    .select(sql<bigint>`coalesce(sum(amount), 0)`.as('put'))
    .executeTakeFirstOrThrow()
  return put
}
