import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import { cursorOf, type Database, isBehind, readTotal, type Tables, timestamptz } from '../../database/index.ts'
import {
  type AccountStatus,
  type Instant,
  notFound,
  type OrderId,
  offsetOf,
  type Page,
  toCursorPage,
  toIso,
  toPage,
  type WalletId,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
  workspaceKind,
} from '../../kernel/index.ts'
import { canonicalReference } from '../../platform/identifiers/index.ts'
import type { OrderType } from '../contract.ts'
import { type Order, type OrderExpiry, storedOrder } from '../order.ts'
import type { DueQuery, OrderQuery } from './queries.ts'

interface OrderMaker {
  workspaceKind: WorkspaceKind
  workspaceStatus: WorkspaceStatus
  /** Null if the system created the order. */
  creatorStatus: AccountStatus | null
}

export type ListedOrder = Order & OrderMaker

const orderColumns = [
  sql<unknown>`order_json(orders)`.as('order'),
  'orders.workspaceKind',
  sql<WorkspaceStatus>`(SELECT workspace_status FROM workspaces w WHERE w.biz_id = orders.workspace_biz_id)`.as(
    'workspaceStatus',
  ),
  sql<AccountStatus | null>`(SELECT account_status FROM accounts a WHERE a.biz_id = orders.created_by)`.as(
    'creatorStatus',
  ),
] as const

type OrderPredicate = (orders: ExpressionBuilder<Tables, 'orders'>) => Expression<SqlBool>

/** A literal, so that PostgreSQL can use the partial indexes on the status. */
const isCompleted: OrderPredicate = (orders) => orders('status', '=', sql.lit('COMPLETED'))
const isNotCompleted: OrderPredicate = (orders) => orders('status', '<>', sql.lit('COMPLETED'))

export interface OrderScope {
  id: OrderId
  type: OrderType
  /** Null for an operator. */
  workspace: WorkspaceId | null
}

export async function readOrder(database: Database, { id, type, workspace }: OrderScope): Promise<ListedOrder> {
  const row = await database
    .selectFrom('orders')
    .where('bizId', '=', id)
    .where('orderType', '=', type)
    .where((orders) => (workspace === null ? orders.lit(true) : isVisibleTo(workspace)(orders)))
    .select(orderColumns)
    .executeTakeFirst()
  if (!row) throw notFound(`no such ${type.toLowerCase()}`)
  return toListedOrder(row)
}

export async function readOrderType(database: Database, id: OrderId): Promise<OrderType | undefined> {
  const row = await database.selectFrom('orders').where('bizId', '=', id).select('orderType').executeTakeFirst()
  return row?.orderType
}

export async function readOrders(database: Database, query: OrderQuery): Promise<ListedOrder[]> {
  return readPageOf(database, query, await orderSets(database, query))
}

export async function listOrders(database: Database, query: OrderQuery): Promise<Page<ListedOrder>> {
  const sets = await orderSets(database, query)
  if (query.before !== undefined) return readOrdersBehind(database, query, sets)
  const orders = await readPageOf(database, query, sets)
  return toPage(orders, await readTotal(sets, orders.length, query), query)
}

/**
 * Counts the orders of all workspaces in a status that waits for an operator, from an index. An order whose time limit has
 * passed counts until the job has ended it.
 */
export async function countWaitingOrders(
  database: Database,
  { type, status }: { type: OrderType; status: string },
): Promise<{ waiting: number; since: Instant | null }> {
  return database
    .selectFrom('orders')
    .where('orderType', '=', type)
    .where('status', '=', status)
    .where(isNotCompleted)
    .select([
      (eb) => eb.fn.countAll<number>().as('waiting'),
      (eb) => eb.fn.min<Instant | null>('createdAt').as('since'),
    ])
    .executeTakeFirstOrThrow()
}

/** ISO 8601 timestamps in UTC with milliseconds sort by time, so they can be compared as text. */
export async function listDueOrders(database: Database, query: DueQuery): Promise<OrderId[]> {
  const { type, status, at, workspace, limit } = query
  const rows = await database
    .selectFrom('orders')
    .where('orderType', '=', type)
    .where('status', '=', status)
    .where(sql<boolean>`data->>'expiresAt' <= ${toIso(at)}`)
    .$if(workspace !== null, (found) => found.where('workspaceBizId', '=', workspace))
    .select('bizId')
    .orderBy('createdAt')
    .limit(limit)
    .execute()
  return rows.map((row) => row.bizId)
}

/** Disjoint sets: orders with this text, and recharges whose reference has the same letters and digits. */
function externalReferenceSets(text: string): RawBuilder<boolean>[] {
  const isText = sql<boolean>`data->>'externalReference' = ${text}`
  const key = canonicalReference(text)
  if (key === '') return [isText]
  return [
    isText,
    sql<boolean>`(data->>'referenceKey' = ${key} AND data->>'externalReference' IS DISTINCT FROM ${text})`,
  ]
}

/** A workspace sees the orders that it created, and completed orders of which it is the counterparty. */
function isVisibleTo(workspace: WorkspaceId): OrderPredicate {
  return (orders) =>
    orders.or([
      orders('workspaceBizId', '=', workspace),
      orders.and([orders('counterpartyWorkspaceBizId', '=', workspace), isCompleted(orders)]),
    ])
}

function toListedOrder({ order, workspaceKind, workspaceStatus, creatorStatus }: OrderMaker & { order: unknown }) {
  return { ...storedOrder.parse(order), workspaceKind, workspaceStatus, creatorStatus }
}

type MatchingOrders = ReturnType<typeof matchingOrders>

/** Selects the keys first, so that PostgreSQL builds the JSON of this page only. */
async function readPageOf(
  database: Database,
  query: OrderQuery,
  sets: readonly MatchingOrders[],
): Promise<ListedOrder[]> {
  return (await readRows(database, query, sets)).map(toListedOrder)
}

/** Reads one more order, to know whether the page is the last one. */
async function readOrdersBehind(
  database: Database,
  query: OrderQuery,
  sets: readonly MatchingOrders[],
): Promise<Page<ListedOrder>> {
  const { pageSize } = query
  const rows = await readRows(database, { ...query, currentPage: 1, pageSize: pageSize + 1 }, sets)
  const page = rows.slice(0, pageSize)
  const next = rows.length > pageSize ? (page.at(-1)?.cursor ?? null) : null
  return toCursorPage(page.map(toListedOrder), next, query)
}

function readRows(database: Database, query: OrderQuery, sets: readonly MatchingOrders[]) {
  const page = sortedKeys(database, query, sets).limit(query.pageSize).offset(offsetOf(query))
  return database
    .selectFrom(page.as('page'))
    .innerJoin('orders', (join) =>
      join.onRef('orders.workspaceBizId', '=', 'page.workspaceBizId').onRef('orders.bizId', '=', 'page.bizId'),
    )
    .select(orderColumns)
    .select(cursorOf({ time: sql.ref('page.sort_key'), id: sql.ref('page.bizId') }).as('cursor'))
    .orderBy('page.sort_key', query.sortOrder)
    .orderBy('page.bizId', query.sortOrder)
    .execute()
}

/** Each set contributes the keys from the start of the list to the end of the requested page. */
function sortedKeys(database: Database, query: OrderQuery, sets: readonly MatchingOrders[]) {
  const limit = offsetOf(query) + query.pageSize
  return sets
    .flatMap((found) => withSortKey(found, query))
    .map(({ found, sortKey }) =>
      found
        .select(['orders.workspaceBizId', 'orders.bizId', sortKey.as('sort_key')])
        .orderBy('sort_key', query.sortOrder)
        .orderBy('orders.bizId', query.sortOrder)
        .limit(limit),
    )
    .map((keys) => database.selectFrom(keys.as('keys')).selectAll())
    .reduce((all, keys) => all.unionAll(keys))
    .orderBy('sort_key', query.sortOrder)
    .orderBy('bizId', query.sortOrder)
}

interface SortedSet {
  found: MatchingOrders
  sortKey: RawBuilder<Instant>
}

/** Of an expired order, the last change is its expiry, which has no index. */
function withSortKey(found: MatchingOrders, { sortBy, expiry }: OrderQuery): SortedSet[] {
  if (sortBy === 'createdAt') return [{ found, sortKey: sql.ref<Instant>('orders.createdAt') }]
  const updated = sql.ref<Instant>('orders.updatedAt')
  if (expiry === undefined) return [{ found, sortKey: updated }]
  const expiring = [expiry.from, expiry.to]
  return [
    { found: found.where('orders.status', 'not in', expiring), sortKey: updated },
    { found: found.where('orders.status', 'in', expiring), sortKey: lastChange(expiry) },
  ]
}

/** The last change of an expired order is its expiry. */
function lastChange(expiry: NonNullable<OrderQuery['expiry']>) {
  return sql<Instant>`CASE WHEN ${currentStatus(expiry)} = ${expiry.to} THEN (orders.data->>'expiresAt')::timestamptz
    ELSE orders.updated_at END`
}

/** Without expiry, the plain column lets PostgreSQL use an index. */
function currentStatus(expiry: OrderQuery['expiry']) {
  return expiry === undefined
    ? sql.ref<string>('orders.status')
    : sql<string>`CASE WHEN orders.status = ${expiry.from} AND orders.data->>'expiresAt' <= ${toIso(expiry.at)}
        THEN ${expiry.to} ELSE orders.status END`
}

/**
 * Disjoint sets that are queried separately, because PostgreSQL has an index for each but not for their OR. Each index
 * has the order of the list.
 */
async function orderSets(database: Database, query: OrderQuery): Promise<MatchingOrders[]> {
  const { wallet, externalReference } = query
  const sets = wallet === undefined ? partySets(query) : await walletSets(database, query, wallet)
  const found = sets.map((isMember) => matchingOrders(database, query).where(isMember))
  if (externalReference === undefined) return found
  return found.flatMap((set) => externalReferenceSets(externalReference).map((hasReference) => set.where(hasReference)))
}

function partySets(query: OrderQuery): OrderPredicate[] {
  const member = query.workspace ?? query.participant
  if (member !== undefined) return [(orders) => orders('workspaceBizId', '=', member), ...receivedSets(query)]
  if (query.wallet !== undefined) return [(orders) => orders.lit(true)]
  const kinds = query.workspaceKind === undefined ? workspaceKind.codes : [query.workspaceKind]
  return kinds.map(
    (kind): OrderPredicate =>
      (orders) =>
        orders('workspaceKind', '=', kind),
  )
}

/** Orders that a workspace received, as it sees them or, for an operator, with the open ones. */
function receivedSets({ workspace, participant, statuses }: OrderQuery): OrderPredicate[] {
  const received: OrderPredicate = (orders) =>
    orders('counterpartyWorkspaceBizId', '=', workspace ?? participant ?? null)
  const sets: OrderPredicate[] = []
  if (statuses?.includes('COMPLETED') ?? true)
    sets.push((orders) => orders.and([received(orders), isCompleted(orders)]))
  if (workspace === null && (statuses?.some((status) => status !== 'COMPLETED') ?? true))
    sets.push((orders) => orders.and([received(orders), isNotCompleted(orders)]))
  return sets
}

/** Nearly all orders with a wallet of the workspace are visible to it, so the index on the wallet suffices. */
async function walletSets(database: Database, query: OrderQuery, wallet: WalletId): Promise<OrderPredicate[]> {
  const sides: OrderPredicate[] = [
    (orders) => orders('sourceWalletBizId', '=', wallet),
    (orders) =>
      orders.and([orders('targetWalletBizId', '=', wallet), orders('sourceWalletBizId', 'is distinct from', wallet)]),
  ]
  const { workspace } = query
  const parties =
    workspace !== null && (await isWalletOf(database, wallet, workspace)) ? [isVisibleTo(workspace)] : partySets(query)
  return sides.flatMap((side) =>
    parties.map(
      (party): OrderPredicate =>
        (orders) =>
          orders.and([side(orders), party(orders)]),
    ),
  )
}

async function isWalletOf(database: Database, wallet: WalletId, workspace: WorkspaceId): Promise<boolean> {
  const found = database.selectFrom('ledger_accounts').where('bizId', '=', wallet)
  return (await found.where('workspaceBizId', '=', workspace).select('bizId').executeTakeFirst()) !== undefined
}

function matchingOrders(database: Database, query: OrderQuery) {
  const { type, workspaceKind, statuses, expiry, from, to, data, before, sortOrder } = query
  const { orderNo, clientReference } = query
  let found = database.selectFrom('orders').where('orderType', '=', type)
  if (statuses?.length === 0) return found.where(sql.lit(false))
  if (workspaceKind !== undefined) found = found.where('workspaceKind', '=', workspaceKind)
  if (statuses !== undefined) found = found.where(currentStatus(expiry), 'in', statuses)
  if (statuses !== undefined && expiry !== undefined)
    found = found.where('orders.status', 'in', storedStatuses(statuses, expiry))
  if (from !== undefined) found = found.where('createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('createdAt', '<=', timestamptz(to))
  if (before !== undefined)
    found = found.where(isBehind(before, { time: sql.ref('orders.createdAt'), id: sql.ref('orders.bizId'), sortOrder }))
  if (orderNo !== undefined) found = found.where('orderNo', '=', orderNo)
  if (clientReference !== undefined) {
    found = found.where(sql<boolean>`data->>'clientReference' = ${clientReference}`)
    // The recipient cannot see the sender's reference.
    if (query.workspace !== null) found = found.where('workspaceBizId', '=', query.workspace)
  }
  if (data !== undefined) found = found.where(sql<boolean>`data @> ${JSON.stringify(data)}::jsonb`)
  return found
}

/** PostgreSQL can use an index on the stored status. */
function storedStatuses(statuses: readonly string[], { from, to }: OrderExpiry): readonly string[] {
  return statuses.includes(to) ? [...statuses, from] : statuses
}
