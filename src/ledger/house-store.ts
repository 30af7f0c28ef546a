import type { Database } from '../database/index.ts'
import { type Clock, type Ids, toDate } from '../kernel/index.ts'

const kinds = ['LIQUIDITY', 'FEE', 'CLEARING'] as const

/** Opens the accounts of the house that are not there yet, one of each kind per currency. Safe to run at every start. */
export const ensureHouse = async (
  { database, clock, ids }: { database: Database; clock: Clock; ids: Ids },
  currencies: readonly string[],
): Promise<void> => {
  const open = await database
    .selectFrom('ledger_accounts')
    .select(['kind', 'currency'])
    .where('workspace_biz_id', 'is', null)
    .execute()
  const isOpen = new Set(open.map(({ kind, currency }) => `${kind} ${currency}`))
  const at = toDate(clock.now())
  const wanted = currencies.flatMap((currency) =>
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
  if (wanted.length === 0) return
  await database
    .insertInto('ledger_accounts')
    .values(wanted)
    .onConflict((conflict) => conflict.columns(['kind', 'currency']).where('workspace_biz_id', 'is', null).doNothing())
    .execute()
}
