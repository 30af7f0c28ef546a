import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { counting, type Database, moment, type Tables } from '../database/index.ts'
import {
  type Instant,
  type OrderId,
  offsetOf,
  type Page,
  type PageRequest,
  toIso,
  toPage,
  type WalletId,
  type WorkspaceId,
  type WorkspaceKind,
} from '../kernel/index.ts'
import { type Order, storedOrder } from './order.ts'
import type { RunningOut } from './running-out.ts'
import type { OrderType } from './schema/tables.ts'

export interface OrderQuery extends PageRequest {
  type: OrderType
  /** Null lets an operator see every workspace's. */
  workspace: WorkspaceId | null
  /** For an operator: what this workspace ordered, and what it is to receive or has received. */
  concerning?: WorkspaceId | undefined
  /** Real orders or a sandbox's; absent for either. */
  workspaceKind?: WorkspaceKind | undefined
  wallet?: WalletId | undefined
  statuses?: readonly string[] | undefined
  /** An order of the first status whose data's `expiresAt` is not after the instant counts as of the second one. */
  runsOut?: (RunningOut & { at: Instant }) | undefined
  /** Both ends of the time of creation count. */
  from?: Instant | undefined
  to?: Instant | undefined
  /** What the order's data must say. */
  data?: Readonly<Record<string, string>> | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

const orderAsTold = sql<unknown>`order_json(orders)`.as('told')
const kindOfWorkspace = sql<WorkspaceKind>`(SELECT workspace_kind FROM workspaces w
  WHERE w.biz_id = orders.workspace_biz_id)`

/** An order as it is read: with the kind of the workspace that ordered it. */
export type ReadOrder = Order & { workspaceKind: WorkspaceKind }

const columnsOfRead = [orderAsTold, kindOfWorkspace.as('workspaceKind')] as const
const readOf = (row: { told: unknown; workspaceKind: WorkspaceKind }): ReadOrder => ({
  ...storedOrder.parse(row.told),
  workspaceKind: row.workspaceKind,
})

type Side = (orders: ExpressionBuilder<Tables, 'orders'>) => Expression<SqlBool>

const ordersOf =
  (workspace: WorkspaceId): Side =>
  (orders) =>
    orders('workspace_biz_id', '=', workspace)

const sentTo =
  (workspace: WorkspaceId): Side =>
  (orders) =>
    orders('counterparty_workspace_biz_id', '=', workspace)

const everyones: Side = (orders) => orders.lit(true)

/**
 * A workspace sees what it ordered, and what has come to it from another one. What another one has yet to send, or never
 * sent, is none of its business. No order is on both sides, and each side has its index, which an OR of the two has not.
 */
const sidesOf = (workspace: WorkspaceId | null, concerning?: WorkspaceId): Side[] => {
  if (workspace !== null)
    return [
      ordersOf(workspace),
      (orders) => orders.and([sentTo(workspace)(orders), orders('status', '=', 'COMPLETED')]),
    ]
  return concerning === undefined ? [everyones] : [ordersOf(concerning), sentTo(concerning)]
}

/** Undefined for an unknown order and for one that is not the workspace's to see alike. */
export const readOrder = async (
  database: Database,
  { id, type, workspace }: { id: OrderId; type: OrderType; workspace: WorkspaceId | null },
): Promise<ReadOrder | undefined> => {
  const row = await database
    .selectFrom('orders')
    .where('biz_id', '=', id)
    .where('order_type', '=', type)
    .where((orders) => orders.or(sidesOf(workspace).map((side) => side(orders))))
    .select(columnsOfRead)
    .executeTakeFirst()
  return row && readOf(row)
}

/** What kind of order an id names, whichever workspace ordered it: for operators. Undefined for an unknown one. */
export const readOrderType = async (database: Database, id: OrderId): Promise<OrderType | undefined> => {
  const row = await database.selectFrom('orders').where('biz_id', '=', id).select('order_type').executeTakeFirst()
  return row?.order_type
}

/** Where nothing runs out, the bare column, which an index can serve. */
const statusNow = (runsOut: OrderQuery['runsOut']) =>
  runsOut === undefined
    ? sql.ref<string>('orders.status')
    : sql<string>`CASE WHEN orders.status = ${runsOut.from} AND orders.data->>'expiresAt' <= ${toIso(runsOut.at)}
        THEN ${runsOut.to} ELSE orders.status END`

/** As what an order is stored that may count as one of these now: a queue of a few is found by its index so. */
const storedFor = (statuses: readonly string[], { from, to }: RunningOut): readonly string[] =>
  statuses.includes(to) ? [...statuses, from] : statuses

/** What has run out has last changed then, and not when that was written down: the same rule as `ranOutAt`. */
const lastChange = (runsOut: OrderQuery['runsOut']) =>
  runsOut === undefined
    ? sql.ref<Instant>('orders.updated_at')
    : sql<Instant>`CASE WHEN ${statusNow(runsOut)} = ${runsOut.to} THEN (orders.data->>'expiresAt')::timestamptz
        ELSE orders.updated_at END`

const matching = (database: Database, query: OrderQuery, side: Side) => {
  const { type, workspaceKind, wallet, statuses, runsOut, from, to, data } = query
  let found = database.selectFrom('orders').where('order_type', '=', type).where(side)
  if (workspaceKind !== undefined) found = found.where(kindOfWorkspace, '=', workspaceKind)
  if (wallet !== undefined) {
    found = found.where((eb) =>
      eb.or([eb('source_wallet_biz_id', '=', wallet), eb('target_wallet_biz_id', '=', wallet)]),
    )
  }
  if (statuses !== undefined) found = found.where(statusNow(runsOut), 'in', statuses)
  if (statuses !== undefined && runsOut !== undefined)
    found = found.where('orders.status', 'in', storedFor(statuses, runsOut))
  if (from !== undefined) found = found.where('created_at', '>=', moment(from))
  if (to !== undefined) found = found.where('created_at', '<=', moment(to))
  if (data !== undefined) found = found.where(sql<boolean>`data @> ${JSON.stringify(data)}::jsonb`)
  return found
}

/** Each side as far as the page may reach into it, in the order of the list. */
const placesOf = (database: Database, query: OrderQuery) => {
  const sortedBy = query.sortBy === 'createdAt' ? sql.ref<Instant>('orders.created_at') : lastChange(query.runsOut)
  const most = offsetOf(query) + query.pageSize
  return sidesOf(query.workspace, query.concerning)
    .map((side) =>
      matching(database, query, side)
        .select(['orders.workspace_biz_id', 'orders.biz_id', sortedBy.as('place')])
        .orderBy('place', query.sortOrder)
        .orderBy('orders.biz_id', query.sortOrder)
        .limit(most),
    )
    .map((places) => database.selectFrom(places.as('side')).selectAll())
    .reduce((all, side) => all.unionAll(side))
    .orderBy('place', query.sortOrder)
    .orderBy('biz_id', query.sortOrder)
}

/**
 * A page's orders alone, for who reads a list to its end. Finds the page by what it is sorted by alone, and tells what is on
 * it: to tell an order costs more than to pass it over.
 */
export const readOrders = async (database: Database, query: OrderQuery): Promise<ReadOrder[]> => {
  const page = placesOf(database, query).limit(query.pageSize).offset(offsetOf(query))
  const told = await database
    .selectFrom(page.as('page'))
    .innerJoin('orders', (join) =>
      join.onRef('orders.workspace_biz_id', '=', 'page.workspace_biz_id').onRef('orders.biz_id', '=', 'page.biz_id'),
    )
    .select(columnsOfRead)
    .orderBy('page.place', query.sortOrder)
    .orderBy('page.biz_id', query.sortOrder)
    .execute()
  return told.map(readOf)
}

export const listOrders = async (database: Database, query: OrderQuery): Promise<Page<ReadOrder>> => {
  const counts = await sidesOf(query.workspace, query.concerning)
    .map((side) => counting(matching(database, query, side)))
    .reduce((all, side) => all.unionAll(side))
    .execute()
  const counted = counts.reduce((sum, { total }) => sum + total, 0)
  return toPage(await readOrders(database, query), counted, query)
}
