import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { type Instant, type Money, money, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { OrderType } from '../schema/tables.ts'

/** Identifies a counter of daily usage. */
export interface UsageQuery {
  workspace: WorkspaceId
  type: OrderType
  /** The channel or channel type that the daily limit applies to. */
  usageOf: string
  currency: string
  /** Any instant of the requested day. Days are in UTC. */
  at: Instant
}

/**
 * Returns the total amount of the workspace's orders on the day. The trigger in schema/daily-usage.ts enforces the
 * daily limit.
 */
export const readDailyUsage = async (database: Database, query: UsageQuery): Promise<Money> => {
  const { workspace, type, usageOf, currency, at } = query
  const { rows } = await sql<{ used: bigint }>`SELECT used FROM daily_usage
    WHERE workspace_biz_id = ${workspace} AND order_type = ${type} AND usage_of = ${usageOf}
      AND currency = ${currency} AND day = (${toDate(at)}::timestamptz AT TIME ZONE 'UTC')::date`.execute(database)
  return money(rows[0]?.used ?? 0n, currency)
}

/** Deletes the daily usage counters of a sandbox workspace, which resets its daily limits. */
export const deleteDailyUsage = async (tx: Database, workspace: WorkspaceId): Promise<void> => {
  await sql`DELETE FROM daily_usage WHERE workspace_biz_id = ${workspace}`.execute(tx)
}
