import { type RawBuilder, sql } from 'kysely'
import { type Database, timestamptz } from '../database/index.ts'
import type { Instant } from '../kernel/index.ts'
import type { Discrepancy, InvariantCheck } from './integrity-store.ts'
import { endedStatuses } from './order.ts'

const ended = sql.join(endedStatuses.map((status) => sql.lit(status)))

/**
 * The invariants of integrity-store.ts for rows since an instant, if the ledger was consistent before. Sums over the
 * whole ledger follow from the sums of the transactions.
 */
const invariants: Record<string, (since: RawBuilder<Instant>) => RawBuilder<unknown>> = {
  'entries of a transaction sum to zero': (since) => sql`
    SELECT transaction_biz_id || ' ' || currency AS subject FROM ${recentEntries(since)} AS e
     GROUP BY transaction_biz_id, currency HAVING sum(amount) <> 0`,
  'entries of an account are consecutive': (since) => sql`
    SELECT e.account_biz_id || ' ' || e.sequence AS subject FROM ${recentEntries(since)} AS e
      LEFT JOIN ledger_entries p ON p.account_biz_id = e.account_biz_id AND p.sequence = e.sequence - 1
      LEFT JOIN ledger_archived_balances b ON b.account_biz_id = e.account_biz_id AND b.sequence = e.sequence - 1
     WHERE (p.sequence IS NULL AND b.sequence IS NULL AND e.sequence <> 1)
        OR e.balance_after <> coalesce(p.balance_after, b.balance, 0) + e.amount
        OR e.created_at < coalesce(p.created_at, b.last_entry_at)`,
  'balance equals the sum of entries': (since) => sql`
    SELECT a.biz_id::text AS subject FROM ${changedAccounts(since)} AS c
      JOIN ledger_accounts a ON a.biz_id = c.account_biz_id
      LEFT JOIN LATERAL (SELECT balance_after, sequence, currency FROM ledger_entries
        WHERE account_biz_id = a.biz_id ORDER BY sequence DESC LIMIT 1) AS e ON true
      LEFT JOIN ledger_archived_balances b ON b.account_biz_id = a.biz_id
     WHERE a.balance <> coalesce(e.balance_after, b.balance, 0) OR a.sequence <> coalesce(e.sequence, b.sequence, 0)
        OR e.currency <> a.currency`,
  'every entry has an account': (since) => sql`
    SELECT e.account_biz_id::text AS subject FROM ${recentEntries(since)} AS e
     WHERE NOT EXISTS (SELECT FROM ledger_accounts a WHERE a.biz_id = e.account_biz_id)`,
  'held amount equals the open holds': (since) => sql`
    SELECT a.biz_id::text AS subject FROM ${changedAccounts(since)} AS c
      JOIN ledger_accounts a ON a.biz_id = c.account_biz_id
     WHERE a.held <> coalesce(
       (SELECT sum(amount) FROM ledger_holds h WHERE h.account_biz_id = a.biz_id AND h.status = 'HELD'), 0)`,
  'available funds are not negative': (since) => sql`
    SELECT a.biz_id::text AS subject FROM ${changedAccounts(since)} AS c
      JOIN ledger_accounts a ON a.biz_id = c.account_biz_id
     WHERE (a.kind <> 'CLEARING' AND a.balance - a.held < 0) OR a.held < 0 OR (a.kind = 'CLEARING' AND a.held > 0)`,
  // Reads all open holds, which are few.
  'ended orders have no open holds': () => sql`
    SELECT o.biz_id::text AS subject FROM ledger_holds h JOIN orders o
        ON h.workspace_biz_id = o.workspace_biz_id AND h.order_biz_id = o.biz_id
     WHERE h.status = 'HELD' AND (o.status IN (${ended}) OR EXISTS (
       SELECT FROM ledger_types t WHERE t.kind = 'ORDER' AND t.name = o.order_type AND (t.statuses->>o.status)::boolean))`,
  'order status equals the last history entry': (since) => sql`
    SELECT biz_id::text AS subject FROM orders
     WHERE updated_at >= ${since} AND history->-1->>'status' IS DISTINCT FROM status`,
}

/** Returns the first broken invariant. Reads only what changed since the instant, and the accounts concerned. */
export async function verifyRecentChanges(database: Database, since: Instant): Promise<Discrepancy | null> {
  for (const [name, query] of Object.entries(invariants)) {
    const { rows } = await sql<InvariantCheck>`
      SELECT ${name}::text AS name, count(*) AS violations, min(subject) AS first
        FROM (${query(timestamptz(since))}) AS broken`.execute(database)
    const [check] = rows
    if (check && check.violations > 0)
      return { rule: name, subject: check.first ?? 'unknown', violations: check.violations }
  }
  return null
}

/** The entries of a transaction have the same time, so either all of them or none are recent. */
function recentEntries(since: RawBuilder<Instant>) {
  return sql`(SELECT * FROM ledger_entries WHERE created_at >= ${since})`
}

function changedAccounts(since: RawBuilder<Instant>) {
  return sql`(
  SELECT account_biz_id FROM ledger_entries WHERE created_at >= ${since}
  UNION SELECT account_biz_id FROM ledger_holds WHERE created_at >= ${since}
  UNION SELECT account_biz_id FROM ledger_holds WHERE ended_at >= ${since})`
}
