import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { type Instant, type OrderId, toIso, type WorkspaceId } from '../../kernel/index.ts'
import type { OrderType } from '../schema/tables.ts'

export interface DueQuery {
  type: OrderType
  status: string
  /** Selects orders whose `expiresAt` is at or before this instant. ISO UTC with milliseconds: its text order is the time order. */
  at: Instant
  /** Null for orders of every workspace. */
  workspace: WorkspaceId | null
  limit: number
}

/** The orders that have expired but not yet been moved, oldest first. */
export const listDueOrders = async (database: Database, query: DueQuery): Promise<OrderId[]> => {
  const { type, status, at, workspace, limit } = query
  const rows = await database
    .selectFrom('orders')
    .where('order_type', '=', type)
    .where('status', '=', status)
    .where(sql<boolean>`data->>'expiresAt' <= ${toIso(at)}`)
    .$if(workspace !== null, (found) => found.where('workspace_biz_id', '=', workspace))
    .select('biz_id')
    .orderBy('created_at')
    .limit(limit)
    .execute()
  return rows.map((row) => row.biz_id)
}
