import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { countQuery, type Database, type Tables, timestamptz } from '../../database/index.ts'
import {
  type Instant,
  notFound,
  type OrderId,
  offsetOf,
  type Page,
  toIso,
  toPage,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import { type Order, type OrderExpiry, storedOrder } from '../order.ts'
import type { OrderType } from '../schema/tables.ts'
import type { DueQuery, OrderQuery } from './queries.ts'

/** An order, and whether the workspace that created it is LIVE or SANDBOX. */
export type ListedOrder = Order & { workspaceKind: WorkspaceKind }

const workspaceKindOfOrder = sql<WorkspaceKind>`(SELECT workspace_kind FROM workspaces w
  WHERE w.biz_id = orders.workspace_biz_id)`

const orderColumns = [sql<unknown>`order_json(orders)`.as('order'), workspaceKindOfOrder.as('workspaceKind')] as const

const toListedOrder = (row: { order: unknown; workspaceKind: WorkspaceKind }): ListedOrder => ({
  ...storedOrder.parse(row.order),
  workspaceKind: row.workspaceKind,
})

type OrderPredicate = (orders: ExpressionBuilder<Tables, 'orders'>) => Expression<SqlBool>

/**
 * Returns predicates for the orders that a query may see. No order matches two predicates. A workspace sees the orders
 * that it created. It also sees the orders of which it is the counterparty, once they are completed. Each predicate is
 * queried separately, because PostgreSQL has an index for each of them but not for their OR.
 */
const visibleSets = (workspace: WorkspaceId | null, participant?: WorkspaceId): OrderPredicate[] => {
  const member = workspace ?? participant
  if (member === undefined) return [(orders) => orders.lit(true)]
  const created: OrderPredicate = (orders) => orders('workspace_biz_id', '=', member)
  const received: OrderPredicate = (orders) => orders('counterparty_workspace_biz_id', '=', member)
  if (workspace === null) return [created, received]
  return [created, (orders) => orders.and([received(orders), orders('status', '=', 'COMPLETED')])]
}

/** Identifies an order for a member of a workspace or for an operator. */
export interface OrderScope {
  id: OrderId
  type: OrderType
  /** Null for an operator, who can read orders of all workspaces. */
  workspace: WorkspaceId | null
}

/** Returns an order. Throws RESOURCE.NOT_FOUND if the order does not exist or the workspace may not see it. */
export const readOrder = async (database: Database, { id, type, workspace }: OrderScope): Promise<ListedOrder> => {
  const row = await database
    .selectFrom('orders')
    .where('biz_id', '=', id)
    .where('order_type', '=', type)
    .where((orders) => orders.or(visibleSets(workspace).map((isVisible) => isVisible(orders))))
    .select(orderColumns)
    .executeTakeFirst()
  if (!row) throw notFound(`no such ${type.toLowerCase()}`)
  return toListedOrder(row)
}

/** Returns the type of an order of any workspace, for operators. Returns undefined if the order does not exist. */
export const readOrderType = async (database: Database, id: OrderId): Promise<OrderType | undefined> => {
  const row = await database.selectFrom('orders').where('biz_id', '=', id).select('order_type').executeTakeFirst()
  return row?.order_type
}

/**
 * Returns the SQL expression of an order's current status. With `expiry`, an order counts as expired from its
 * `expiresAt`. Without `expiry`, the expression is the plain column, because PostgreSQL can use an index on it.
 */
const currentStatus = (expiry: OrderQuery['expiry']) =>
  expiry === undefined
    ? sql.ref<string>('orders.status')
    : sql<string>`CASE WHEN orders.status = ${expiry.from} AND orders.data->>'expiresAt' <= ${toIso(expiry.at)}
        THEN ${expiry.to} ELSE orders.status END`

/**
 * Returns the stored statuses that orders with one of the specified current statuses can have. PostgreSQL can use an
 * index to filter by stored status.
 */
const storedStatuses = (statuses: readonly string[], { from, to }: OrderExpiry): readonly string[] =>
  statuses.includes(to) ? [...statuses, from] : statuses

/**
 * Returns the SQL expression of an order's last change. The last change of an expired order is its `expiresAt`, as in
 * `expiredAt`.
 */
const lastChange = (expiry: OrderQuery['expiry']) =>
  expiry === undefined
    ? sql.ref<Instant>('orders.updated_at')
    : sql<Instant>`CASE WHEN ${currentStatus(expiry)} = ${expiry.to} THEN (orders.data->>'expiresAt')::timestamptz
        ELSE orders.updated_at END`

const matchingOrders = (database: Database, query: OrderQuery, isVisible: OrderPredicate) => {
  const { type, workspaceKind, wallet, statuses, expiry, from, to, data } = query
  let found = database.selectFrom('orders').where('order_type', '=', type).where(isVisible)
  if (workspaceKind !== undefined) found = found.where(workspaceKindOfOrder, '=', workspaceKind)
  if (wallet !== undefined) {
    found = found.where((eb) =>
      eb.or([eb('source_wallet_biz_id', '=', wallet), eb('target_wallet_biz_id', '=', wallet)]),
    )
  }
  if (statuses !== undefined) found = found.where(currentStatus(expiry), 'in', statuses)
  if (statuses !== undefined && expiry !== undefined)
    found = found.where('orders.status', 'in', storedStatuses(statuses, expiry))
  if (from !== undefined) found = found.where('created_at', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('created_at', '<=', timestamptz(to))
  if (data !== undefined) found = found.where(sql<boolean>`data @> ${JSON.stringify(data)}::jsonb`)
  return found
}

/**
 * Selects the sorted keys of the matching orders. Each predicate of `visibleSets` contributes the keys from the start
 * of the list to the end of the requested page.
 */
const sortedKeys = (database: Database, query: OrderQuery) => {
  const sortKey = query.sortBy === 'createdAt' ? sql.ref<Instant>('orders.created_at') : lastChange(query.expiry)
  const limit = offsetOf(query) + query.pageSize
  return visibleSets(query.workspace, query.participant)
    .map((isVisible) =>
      matchingOrders(database, query, isVisible)
        .select(['orders.workspace_biz_id', 'orders.biz_id', sortKey.as('sort_key')])
        .orderBy('sort_key', query.sortOrder)
        .orderBy('orders.biz_id', query.sortOrder)
        .limit(limit),
    )
    .map((keys) => database.selectFrom(keys.as('keys')).selectAll())
    .reduce((all, keys) => all.unionAll(keys))
    .orderBy('sort_key', query.sortOrder)
    .orderBy('biz_id', query.sortOrder)
}

/**
 * Returns one page of orders without counting the matching orders. Selects the keys of the page first, so that
 * PostgreSQL builds the JSON of the orders on this page only.
 */
export const readOrders = async (database: Database, query: OrderQuery): Promise<ListedOrder[]> => {
  const page = sortedKeys(database, query).limit(query.pageSize).offset(offsetOf(query))
  const rows = await database
    .selectFrom(page.as('page'))
    .innerJoin('orders', (join) =>
      join.onRef('orders.workspace_biz_id', '=', 'page.workspace_biz_id').onRef('orders.biz_id', '=', 'page.biz_id'),
    )
    .select(orderColumns)
    .orderBy('page.sort_key', query.sortOrder)
    .orderBy('page.biz_id', query.sortOrder)
    .execute()
  return rows.map(toListedOrder)
}

/** Returns one page of orders, and the total number of orders that match the query. */
export const listOrders = async (database: Database, query: OrderQuery): Promise<Page<ListedOrder>> => {
  const counts = await visibleSets(query.workspace, query.participant)
    .map((isVisible) => countQuery(matchingOrders(database, query, isVisible)))
    .reduce((all, count) => all.unionAll(count))
    .execute()
  const total = counts.reduce((sum, count) => sum + count.total, 0)
  return toPage(await readOrders(database, query), total, query)
}

/**
 * Returns the ids of open orders whose `expiresAt` has passed, oldest first. `expiresAt` can be compared as text: ISO
 * 8601 timestamps in UTC with milliseconds sort by time.
 */
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
