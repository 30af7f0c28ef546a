import { sql } from 'kysely'
import type { Database } from '../database/index.ts'
import { type Instant, type OrderId, toIso, type WorkspaceId } from '../kernel/index.ts'
import type { OrderType } from './schema/tables.ts'

export interface DueQuery {
  type: OrderType
  status: string
  /** Those whose data's `expiresAt` (ISO UTC with milliseconds, so that texts sort as times) is not after this. */
  at: Instant
  /** Null reaches every workspace's. */
  workspace: WorkspaceId | null
  most: number
}

/** The orders whose time has run out, the oldest first. */
export const listDueOrders = async (database: Database, query: DueQuery): Promise<OrderId[]> => {
  const { type, status, at, workspace, most } = query
  const rows = await database
    .selectFrom('orders')
    .where('order_type', '=', type)
    .where('status', '=', status)
    .where(sql<boolean>`data->>'expiresAt' <= ${toIso(at)}`)
    .$if(workspace !== null, (found) => found.where('workspace_biz_id', '=', workspace))
    .select('biz_id')
    .orderBy('created_at')
    .limit(most)
    .execute()
  return rows.map((row) => row.biz_id)
}
