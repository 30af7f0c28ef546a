import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { toDate } from '../../kernel/index.ts'
import type { LedgerPorts } from './execute-store.ts'

const kinds = ['LIQUIDITY', 'FEE', 'CLEARING'] as const

/** Opens the missing house accounts: one of each kind per currency. Idempotent. */
export const ensureHouseAccounts = async (
  { database, clock, ids }: LedgerPorts,
  currencies: readonly string[],
): Promise<void> => {
  const existing = await database
    .selectFrom('ledger_accounts')
    .select(['kind', 'currency'])
    .where('workspace_biz_id', 'is', null)
    .execute()
  const isOpen = new Set(existing.map(({ kind, currency }) => `${kind} ${currency}`))
  const at = toDate(clock.now())
  const missing = currencies.flatMap((currency) =>
    kinds
      .filter((kind) => !isOpen.has(`${kind} ${currency}`))
      .map((kind) => ({
        biz_id: ids.next<'wallet'>(),
        workspace_biz_id: null,
        kind,
        currency,
        created_at: at,
        updated_at: at,
      })),
  )
  if (missing.length === 0) return
  await database
    .insertInto('ledger_accounts')
    .values(missing)
    .onConflict((conflict) => conflict.columns(['kind', 'currency']).where('workspace_biz_id', 'is', null).doNothing())
    .execute()
}

/**
 * The opening funds of the house's liquidity in a currency, in minor units; undefined without an account. Locks the account,
 * so that replicas take turns. The literal lets the planner use the index on opening entries.
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
  const { provided } = await tx
    .selectFrom('ledger_entries')
    .where('account_biz_id', '=', account.biz_id)
    .where('flow_type', '=', sql.lit('OPENING'))
    .select(sql<bigint>`coalesce(sum(amount), 0)`.as('provided'))
    .executeTakeFirstOrThrow()
  return provided
}
