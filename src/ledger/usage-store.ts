import { sql } from 'kysely'
import type { Database } from '../database/index.ts'
import { type Instant, type Money, money, toDate, type WorkspaceId } from '../kernel/index.ts'
import type { OrderType } from './schema/tables.ts'

export interface UsageQuery {
  workspace: WorkspaceId
  type: OrderType
  /** The channel, or the kind of channel, that the counter is of. */
  usageOf: string
  currency: string
  /** Any moment of the day (UTC). */
  at: Instant
}

/** What the workspace has ordered so far on the day; what orders in parallel add to it is the counter's own to bound. */
export const readDailyUsage = async (database: Database, query: UsageQuery): Promise<Money> => {
  const { workspace, type, usageOf, currency, at } = query
  const { rows } = await sql<{ used: bigint }>`SELECT used FROM daily_usage
    WHERE workspace_biz_id = ${workspace} AND order_type = ${type} AND usage_of = ${usageOf}
      AND currency = ${currency} AND day = (${toDate(at)}::timestamptz AT TIME ZONE 'UTC')::date`.execute(database)
  return money(rows[0]?.used ?? 0n, currency)
}

/** For a sandbox that is emptied: it starts the day anew. */
export const deleteUsageOf = async (tx: Database, workspace: WorkspaceId): Promise<void> => {
  await sql`DELETE FROM daily_usage WHERE workspace_biz_id = ${workspace}`.execute(tx)
}
