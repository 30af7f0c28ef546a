import { sql } from 'kysely'
import { type Database, readTotal, timestamptz } from '../../database/index.ts'
import {
  type Instant,
  invalid,
  type Money,
  money,
  type OrderId,
  offsetOf,
  type Page,
  startCursor,
  toCursorPage,
  toPage,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { FlowDirection, FlowType, OrderType } from '../contract.ts'
import type { ListParameters } from './queries.ts'

export interface Flow {
  bizId: string
  sequence: number
  flowType: FlowType
  /** Negative for an outgoing amount. */
  amount: Money
  balanceAfter: Money
  orderType: OrderType | null
  orderBizId: OrderId | null
  remark: string | null
  createdAt: Instant
}

/** A query for a wallet's flows. `from` and `to` limit the creation time of the flows. */
export interface FlowQuery extends ListParameters {
  wallet: WalletId
  workspace: WorkspaceId
  flowType?: FlowType | undefined
  direction?: FlowDirection | undefined
}

const columns = [
  'e.bizId',
  'e.sequence',
  'e.flowType',
  'e.currency',
  'e.amount',
  'e.balanceAfter',
  'e.orderBizId',
  'e.createdAt',
] as const

export function readFlows(database: Database, query: FlowQuery): Promise<Flow[]> {
  const page = selectFlows(matchingEntries(database, query))
    .orderBy('e.createdAt', query.sortOrder)
    .orderBy('e.sequence', query.sortOrder)
    .limit(query.pageSize)
    .offset(offsetOf(query))
  return withOrders(database, page, query)
}

export async function listFlows(database: Database, query: FlowQuery): Promise<Page<Flow>> {
  const { flowType, direction, from, to, before } = query
  if (before !== undefined) return listFlowsBehind(database, query, before)
  if (!flowType && !direction && from === undefined && to === undefined) return listAllFlows(database, query)
  const flows = await readFlows(database, query)
  return toPage(flows, await readTotal([matchingEntries(database, query)], flows.length, query), query)
}

export interface Posting {
  bizId: string
  kind: string
  account: WalletId
  workspace: WorkspaceId | null
  amount: Money
  flowType: FlowType
  createdAt: Instant
}

export async function listPostings(database: Database, order: OrderId): Promise<Posting[]> {
  const rows = await database
    .selectFrom('ledger_entries as e')
    .innerJoin('ledger_accounts as a', 'a.bizId', 'e.accountBizId')
    .where('e.orderBizId', '=', order)
    .select([
      'e.bizId',
      'a.kind',
      'e.accountBizId as account',
      'e.workspaceBizId as workspace',
      'e.currency',
      'e.amount',
      'e.flowType',
      'e.createdAt',
    ])
    .orderBy('e.createdAt')
    .orderBy('e.amount')
    .execute()
  return rows.map(({ currency, amount, ...row }) => ({ ...row, amount: money(amount, currency) }))
}

function selectFlows(found: ReturnType<typeof matchingEntries>) {
  return found.select(columns)
}

/** Compares the workspace with the account instead of each entry, so that counting needs only an index. */
function matchingEntries(database: Database, { wallet, workspace, flowType, direction, from, to }: FlowQuery) {
  let found = database
    .selectFrom('ledger_entries as e')
    .where('e.accountBizId', '=', wallet)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('ledger_accounts')
          .select('bizId')
          .where('bizId', '=', wallet)
          .where('workspaceBizId', '=', workspace),
      ),
    )
  if (flowType) found = found.where('e.flowType', '=', flowType)
  if (direction) found = found.where('e.amount', direction === 'IN' ? '>' : '<', sql<bigint>`0`)
  if (from !== undefined) found = found.where('e.createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('e.createdAt', '<=', timestamptz(to))
  return found
}

type FlowPage = ReturnType<typeof selectFlows>

/** The page is a subquery. Otherwise the join would read the orders of all earlier flows. */
async function withOrders(database: Database, page: FlowPage, { sortOrder }: FlowQuery): Promise<Flow[]> {
  const rows = await database
    .selectFrom(page.as('page'))
    .leftJoin('orders as o', 'o.bizId', 'page.orderBizId')
    .selectAll('page')
    .select(['o.orderType', sql<string | null>`o.data->>'remark'`.as('remark')])
    .orderBy('page.createdAt', sortOrder)
    .orderBy('page.sequence', sortOrder)
    .execute()
  return rows.map(toFlow)
}

type FlowRow = Omit<Flow, 'amount' | 'balanceAfter'> & { currency: string; amount: bigint; balanceAfter: bigint }

function toFlow({ currency, amount, balanceAfter, ...row }: FlowRow): Flow {
  return {
    ...row,
    amount: money(amount, currency),
    balanceAfter: money(balanceAfter, currency),
  }
}

/** The entries of an account have consecutive numbers, so each page is a range of numbers. */
async function listAllFlows(database: Database, query: FlowQuery): Promise<Page<Flow>> {
  const { last, archived } = await sequencesOf(database, query)
  const records = last - archived
  const before = offsetOf(query)
  const first = query.sortOrder === 'asc' ? archived + before + 1 : last - before - query.pageSize + 1
  const page = selectFlows(matchingEntries(database, query))
    .where('e.sequence', '>=', first)
    .where('e.sequence', '<', first + query.pageSize)
  return toPage(await withOrders(database, page, query), { records, isEstimated: false }, query)
}

/** The sequence numbers are in the order of the times. */
async function listFlowsBehind(database: Database, query: FlowQuery, before: string): Promise<Page<Flow>> {
  const { pageSize, sortOrder } = query
  const [, last] = before.split('_')
  if (before !== startCursor && !/^\d+$/.test(last ?? '')) throw invalid('before', 'the cursor of another list')
  let page = selectFlows(matchingEntries(database, query)).orderBy('e.sequence', sortOrder)
  if (before !== startCursor) page = page.where('e.sequence', sortOrder === 'asc' ? '>' : '<', Number(last))
  const flows = await withOrders(database, page.limit(pageSize + 1).offset(0), query)
  const items = flows.slice(0, pageSize)
  const end = flows.length > pageSize ? items.at(-1) : undefined
  return toCursorPage(items, end ? `0_${end.sequence}` : null, query)
}

/** The numbers of the last entry and of the last archived one. */
async function sequencesOf(
  database: Database,
  { wallet, workspace }: FlowQuery,
): Promise<{ last: number; archived: number }> {
  const row = await database
    .selectFrom('ledger_accounts as a')
    .leftJoin('ledger_archived_balances as b', 'b.accountBizId', 'a.bizId')
    .where('a.bizId', '=', wallet)
    .where('a.workspaceBizId', '=', workspace)
    .select(['a.sequence as last', 'b.sequence as archived'])
    .executeTakeFirst()
  return { last: row?.last ?? 0, archived: row?.archived ?? 0 }
}
