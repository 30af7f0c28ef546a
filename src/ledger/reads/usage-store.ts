import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { type AccountId, type Instant, type Money, money, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { Usage } from '../commands/command.ts'

export interface UsageQuery extends Pick<Usage, 'of' | 'usageOf'> {
  workspace: WorkspaceId
  actor: AccountId
  currency: string
  at: Instant
}

/**
 * Returns the total for the 24 hours before `at`. The total does not change while a command checks it
 * (schema/usage.ts).
 */
export async function readUsage(database: Database, query: UsageQuery): Promise<Money> {
  const { workspace, actor, at, ...used } = query
  const json = JSON.stringify(used)
  const { rows } = await sql<{ used: bigint }>`
    SELECT ledger_usage_total(${json}::jsonb, ledger_usage_subject(${json}::jsonb, ${workspace}::uuid, ${actor}::uuid),
      ${toDate(at)}::timestamptz)::minor_units AS used`.execute(database)
  return money(rows[0]?.used ?? 0n, query.currency)
}

/** Resets the limits of a sandbox workspace. */
export async function deleteUsage(tx: Database, workspace: WorkspaceId): Promise<void> {
  await sql`DELETE FROM ledger_usage WHERE workspace_biz_id = ${workspace}`.execute(tx)
}

/** Deletes up to `limit` amounts that are older than a day. Returns the number of deleted rows. */
export async function deleteExpiredUsage(database: Database, at: Instant, limit: number): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    SELECT ledger_usage_cleanup(${toDate(at)}::timestamptz, ${limit}::integer) AS deleted`.execute(database)
  return rows[0]?.deleted ?? 0
}
