import { sql } from 'kysely'
import type { Database } from '../database/index.ts'
import { type Instant, toDate } from '../kernel/index.ts'
import { endedStatuses } from './order.ts'

export interface InvariantCheck {
  name: string
  violations: number
  first: string | null
}

/** Archived entries count by the balances that they left. The partition of the last ones may still exist. */
const storedEntries = `(SELECT * FROM ledger_entries
  WHERE created_at >= coalesce((SELECT until FROM ledger_archive), '-infinity'))`

/** The invariants that also hold for the entries of a partition, which follow the archived ones. */
export function entryInvariants(entries: string): Record<string, string> {
  return {
    'entries of a transaction sum to zero': `
    SELECT transaction_biz_id || ' ' || currency AS subject FROM ${entries} AS e
     GROUP BY transaction_biz_id, currency HAVING sum(amount) <> 0`,
    'entries of an account are consecutive': `
    SELECT account_biz_id || ' ' || e.sequence AS subject FROM (
      SELECT account_biz_id, sequence, balance_after, created_at,
             row_number() OVER w AS place, sum(amount) OVER w AS running, lag(created_at) OVER w AS before
        FROM ${entries} AS stored WINDOW w AS (PARTITION BY account_biz_id ORDER BY sequence)) AS e
      LEFT JOIN ledger_archived_balances b USING (account_biz_id)
     WHERE e.sequence <> place + coalesce(b.sequence, 0) OR balance_after <> running + coalesce(b.balance, 0)
        OR created_at < coalesce(before, b.last_entry_at)`,
  }
}

/**
 * Each query selects the subjects that violate the invariant. The query on consecutive entries compares each balance
 * with a running sum, which finds an account's first wrong entry.
 */
const invariants: Record<string, string> = {
  'entries of a currency sum to zero': `
    SELECT currency AS subject FROM (SELECT currency, amount FROM ${storedEntries} AS e
      UNION ALL SELECT currency, balance FROM ledger_archived_balances) AS amounts
     GROUP BY currency HAVING sum(amount) <> 0`,
  ...entryInvariants(storedEntries),
  'balance equals the sum of entries': `
    SELECT a.biz_id::text AS subject FROM ledger_accounts a LEFT JOIN (
      SELECT account_biz_id, sum(amount) AS amount, max(sequence) AS sequence, count(DISTINCT currency) AS currencies,
             min(currency) AS currency FROM ${storedEntries} AS stored GROUP BY account_biz_id) AS e
        ON e.account_biz_id = a.biz_id
      LEFT JOIN ledger_archived_balances b ON b.account_biz_id = a.biz_id
     WHERE a.balance <> coalesce(e.amount, 0) + coalesce(b.balance, 0)
        OR a.sequence <> coalesce(e.sequence, b.sequence, 0)
        OR e.currencies > 1 OR e.currency <> a.currency OR b.currency <> a.currency`,
  'every entry has an account': `
    SELECT e.account_biz_id::text AS subject FROM ${storedEntries} AS e
     WHERE NOT EXISTS (SELECT FROM ledger_accounts a WHERE a.biz_id = e.account_biz_id)`,
  'held amount equals the open holds': `
    SELECT a.biz_id::text AS subject FROM ledger_accounts a LEFT JOIN (
      SELECT account_biz_id, sum(amount) AS amount FROM ledger_holds WHERE status = 'HELD' GROUP BY account_biz_id
      ) AS h ON h.account_biz_id = a.biz_id
     WHERE a.held <> coalesce(h.amount, 0)`,
  'available funds are not negative': `
    SELECT biz_id::text AS subject FROM ledger_accounts
     WHERE (kind <> 'CLEARING' AND balance - held < 0) OR held < 0 OR (kind = 'CLEARING' AND held > 0)`,
  'ended orders have no open holds': `
    SELECT o.biz_id::text AS subject FROM orders o JOIN ledger_holds h
        ON h.workspace_biz_id = o.workspace_biz_id AND h.order_biz_id = o.biz_id
     WHERE h.status = 'HELD' AND (o.status IN ('${endedStatuses.join("', '")}') OR EXISTS (
       SELECT FROM ledger_types t WHERE t.kind = 'ORDER' AND t.name = o.order_type AND (t.statuses->>o.status)::boolean))`,
  'order status equals the last history entry': `
    SELECT biz_id::text AS subject FROM orders WHERE history->-1->>'status' IS DISTINCT FROM status`,
  'sandbox balances sum to zero': `
    SELECT a.currency AS subject FROM ledger_accounts a JOIN workspaces w ON w.biz_id = a.workspace_biz_id
     WHERE w.workspace_kind = 'SANDBOX' GROUP BY a.currency HAVING sum(a.balance) <> 0`,
}

/**
 * Each query reads its own snapshot. A single snapshot would delay VACUUM and, on PGlite, block all other statements.
 */
export async function checkInvariants(database: Database): Promise<InvariantCheck[]> {
  const checks: InvariantCheck[] = []
  for (const [name, query] of Object.entries(invariants)) checks.push(await checkInvariant(database, name, query))
  return checks
}

export async function checkInvariant(database: Database, name: string, query: string): Promise<InvariantCheck> {
  const { rows } = await sql<InvariantCheck>`
    SELECT ${name}::text AS name, count(*) AS violations, min(subject) AS first
      FROM (${sql.raw(query)}) AS broken`.execute(database)
  return rows[0] ?? { name, violations: 0, first: null }
}

export interface Discrepancy {
  rule: string
  /** The first account, transaction, order or currency that violates the invariant. */
  subject: string
  violations: number
}

export async function verifyLedger(database: Database): Promise<Discrepancy | null> {
  const broken = (await checkInvariants(database)).find((check) => check.violations > 0)
  return broken ? { rule: broken.name, subject: broken.first ?? 'unknown', violations: broken.violations } : null
}

export interface CompletedCheck {
  at: Instant
  /** Null if the ledger was consistent. */
  broken: Discrepancy | null
  isWhole: boolean
}

/** A check that finds a discrepancy is followed by a check of the whole ledger. */
export async function recordCheck(database: Database, { at, broken, isWhole }: CompletedCheck): Promise<void> {
  const row = {
    checkedAt: toDate(at),
    rule: broken?.rule ?? null,
    subject: broken?.subject ?? null,
    violations: broken?.violations ?? 0,
    verifiedAt: broken ? null : toDate(at),
    ...(broken || isWhole ? { wholeVerifiedAt: broken ? null : toDate(at) } : {}),
  }
  await database
    .insertInto('ledger_check')
    .values(row)
    .onConflict((conflict) => conflict.column('one').doUpdateSet(row))
    .execute()
}

export interface LastCheck {
  at: Instant
  /** Null if the ledger was consistent. */
  broken: Discrepancy | null
  /** Start of the last check, if it found the ledger consistent. */
  verifiedAt: Instant | null
  /** Start of the last check of the whole ledger, if the ledger was consistent since. */
  wholeVerifiedAt: Instant | null
}

/** Undefined before the first check has completed. */
export async function readLastCheck(database: Database): Promise<LastCheck | undefined> {
  const found = await database
    .selectFrom('ledger_check')
    .select(['checkedAt as at', 'rule', 'subject', 'violations', 'verifiedAt', 'wholeVerifiedAt'])
    .executeTakeFirst()
  if (!found) return undefined
  const { rule, subject, violations, ...times } = found
  return { ...times, broken: rule === null || subject === null ? null : { rule, subject, violations } }
}
