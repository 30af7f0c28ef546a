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
import { type Order, storedOrder } from '../order.ts'
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
  const counted = withStatuses(sets, statusSets({ ...query, sortBy: 'createdAt' }))
  const disjoint = counted.map(({ found }) => found)
  return toPage(orders, await readTotal(disjoint, orders.length, query), query)
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
  return withStatuses(sets, statusSets(query))
    .map(({ found, sortKey, order }) =>
      found
        .select(['orders.workspaceBizId', 'orders.bizId', sortKey.as('sort_key')])
        .orderBy(order, query.sortOrder)
        .orderBy('orders.bizId', query.sortOrder)
        .limit(limit),
    )
    .map((keys) => database.selectFrom(keys.as('keys')).selectAll())
    .reduce((all, keys) => all.unionAll(keys))
    .orderBy('sort_key', query.sortOrder)
    .orderBy('bizId', query.sortOrder)
}

interface StatusSet {
  has: RawBuilder<SqlBool>
  sortKey: RawBuilder<Instant>
  /** Has the order of `sortKey`. */
  order: RawBuilder<unknown>
}

function withStatuses(sets: readonly MatchingOrders[], statuses: readonly StatusSet[]) {
  return sets.flatMap((set) => statuses.map(({ has, ...sorted }) => ({ found: set.where(has), ...sorted })))
}

/**
 * Disjoint sets, like `orderSets`: an open order past its time limit counts as expired, and its last change is then the
 * time limit. Only the open ones need their data for that, so all others are found and counted by an index.
 */
function statusSets({ sortBy, statuses, expiry }: OrderQuery): StatusSet[] {
  const byTime = sortedBy(sortBy === 'createdAt' ? 'orders.createdAt' : 'orders.updatedAt')
  const areAll = [{ has: statuses ? isIn(statuses) : sql<SqlBool>`true`, ...byTime }]
  if (expiry === undefined || statuses?.length === 0) return areAll
  const { from, to, at } = expiry
  const [namesOpen, namesExpired] = [from, to].map((status) => statuses?.includes(status) ?? true)
  if (sortBy === 'createdAt' && namesOpen && namesExpired) return areAll
  const isOpen = sql<SqlBool>`orders.status = ${from}`
  const isDue = sql<SqlBool>`orders.data->>'expiresAt' <= ${toIso(at)}`
  const due = sql<SqlBool>`(${isOpen} AND ${isDue})`
  const notDue = sql<SqlBool>`(${isOpen} AND (${isDue}) IS NOT TRUE)`
  const others = statuses?.filter((status) => status !== from && status !== to)
  const expired = sortBy === 'createdAt' ? byTime : byExpiry
  return [
    { has: others ? isIn(others) : sql<SqlBool>`orders.status NOT IN (${from}, ${to})`, ...byTime },
    ...(namesExpired ? [{ has: isIn([to]), ...expired }] : []),
    ...(namesExpired ? [{ has: due, ...expired, ...(sortBy === 'createdAt' && { order: notByIndex }) }] : []),
    ...(namesOpen ? [{ has: notDue, ...byTime }] : []),
  ].filter(({ has }) => has !== isInNone)
}

const isInNone = sql<SqlBool>`false`

function isIn(statuses: readonly string[]): RawBuilder<SqlBool> {
  return statuses.length === 0 ? isInNone : sql`orders.status IN (${sql.join(statuses)})`
}

function sortedBy(column: 'orders.createdAt' | 'orders.updatedAt') {
  return { sortKey: sql.ref<Instant>(column), order: sql.ref(column) }
}

/** ISO 8601 timestamps sort by time. PostgreSQL has no index on a text that it converts to a time. */
const byExpiry = {
  sortKey: sql<Instant>`(orders.data->>'expiresAt')::timestamptz`,
  order: sql`orders.data->>'expiresAt'`,
}

/** PostgreSQL would read all open orders in the order of the list, to find the few that are due. */
const notByIndex = sql`orders.created_at + interval '0'`

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
  const { type, workspaceKind, from, to, data, before, sortOrder } = query
  const { orderNo, clientReference } = query
  let found = database.selectFrom('orders').where('orderType', '=', type)
  if (workspaceKind !== undefined) found = found.where('workspaceKind', '=', workspaceKind)
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
