import { sql } from 'kysely'
import type { Tx } from '../database/index.ts'
import { type Instant, toDate } from '../kernel/index.ts'
import type { ArchiveRules } from '../platform/partitions/index.ts'
import { checkInvariant, entryInvariants } from './integrity-store.ts'

/** The entries of a partition must be consistent with those that were archived before. */
export const ledgerArchiveRules: ArchiveRules = {
  check: async (database, { name }) => {
    for (const [rule, query] of Object.entries(entryInvariants(name))) {
      const { violations, first } = await checkInvariant(database, rule, query)
      if (violations > 0) throw new Error(`${name} breaks a rule at ${first}: ${rule}; nothing is archived`)
    }
  },
  record: recordArchivedBalances,
}

/** The balance of each account after its last entry in the partition. Sums and sequence numbers continue from there. */
async function recordArchivedBalances(tx: Tx, { name, upper }: { name: string; upper: Instant }): Promise<void> {
  await sql`
    INSERT INTO ledger_archived_balances (account_biz_id, currency, sequence, balance, last_entry_at, opening)
    SELECT DISTINCT ON (account_biz_id) account_biz_id, currency, sequence, balance_after, created_at,
           coalesce(sum(amount) FILTER (WHERE flow_type = 'OPENING') OVER (PARTITION BY account_biz_id), 0)
      FROM ${sql.table(name)} ORDER BY account_biz_id, sequence DESC
    ON CONFLICT (account_biz_id) DO UPDATE SET sequence = excluded.sequence, balance = excluded.balance,
      last_entry_at = excluded.last_entry_at, opening = ledger_archived_balances.opening + excluded.opening`.execute(tx)
  const values = { until: toDate(upper) }
  await tx
    .insertInto('ledger_archive')
    .values(values)
    .onConflict((conflict) => conflict.column('isOnly').doUpdateSet(values))
    .execute()
}
