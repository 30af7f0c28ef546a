import { sql } from 'kysely'
import { countQuery, type Database, timestamptz } from '../../database/index.ts'
import {
  type Instant,
  type Money,
  money,
  type OrderId,
  offsetOf,
  type Page,
  toPage,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { FlowDirection, FlowType } from '../contract.ts'
import type { OrderType } from '../schema/tables.ts'
import type { ListParameters } from './queries.ts'

/** A journal entry of a wallet, as members of the wallet's workspace see it. */
export interface Flow {
  bizId: string
  sequence: number
  flowType: FlowType
  /** Negative for an outgoing amount. */
  amount: Money
  balanceAfter: Money
  orderType: OrderType | null
  orderBizId: OrderId | null
  /** The remark of the order's creator. */
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

/**
 * Selects the journal entries that match a query. The workspace is compared with the account and not with each entry.
 * Counting the entries therefore needs only an index.
 */
const matchingEntries = (database: Database, { wallet, workspace, flowType, direction, from, to }: FlowQuery) => {
  let found = database
    .selectFrom('ledger_entries as e')
    .where('e.account_biz_id', '=', wallet)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('ledger_accounts')
          .select('biz_id')
          .where('biz_id', '=', wallet)
          .where('workspace_biz_id', '=', workspace),
      ),
    )
  if (flowType) found = found.where('e.flow_type', '=', flowType)
  if (direction) found = found.where('e.amount', direction === 'IN' ? '>' : '<', sql<bigint>`0`)
  if (from !== undefined) found = found.where('e.created_at', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('e.created_at', '<=', timestamptz(to))
  return found
}

const columns = [
  'e.biz_id as bizId',
  'e.sequence',
  'e.flow_type as flowType',
  'e.currency',
  'e.amount',
  'e.balance_after as balanceAfter',
  'e.order_biz_id as orderBizId',
  'e.created_at as createdAt',
] as const

type FlowRow = Omit<Flow, 'amount' | 'balanceAfter'> & { currency: string; amount: bigint; balanceAfter: bigint }

const toFlow = ({ currency, amount, balanceAfter, ...row }: FlowRow): Flow => ({
  ...row,
  amount: money(amount, currency),
  balanceAfter: money(balanceAfter, currency),
})

/**
 * Returns one page of flows, sorted by creation time, without counting the matching flows. The subquery selects the
 * page before the join with orders. Joining first would read the orders of all earlier flows.
 */
export const readFlows = async (database: Database, query: FlowQuery): Promise<Flow[]> => {
  const page = matchingEntries(database, query)
    .select(columns)
    .orderBy('e.created_at', query.sortOrder)
    .orderBy('e.sequence', query.sortOrder)
    .limit(query.pageSize)
    .offset(offsetOf(query))
  const rows = await database
    .selectFrom(page.as('page'))
    .leftJoin('orders as o', 'o.biz_id', 'page.orderBizId')
    .selectAll('page')
    .select(['o.order_type as orderType', sql<string | null>`o.data->>'remark'`.as('remark')])
    .orderBy('page.createdAt', query.sortOrder)
    .orderBy('page.sequence', query.sortOrder)
    .execute()
  return rows.map(toFlow)
}

/** Returns one page of flows, and the total number of flows that match the query. */
export const listFlows = async (database: Database, query: FlowQuery): Promise<Page<Flow>> => {
  const { total } = await countQuery(matchingEntries(database, query)).executeTakeFirstOrThrow()
  return toPage(await readFlows(database, query), total, query)
}

/** A journal entry of an order, as operators see it. The account can be a wallet or a house account. */
export interface Posting {
  bizId: string
  kind: string
  account: WalletId
  workspace: WorkspaceId | null
  amount: Money
  flowType: FlowType
  createdAt: Instant
}

/** Returns all journal entries of an order, oldest first. */
export const listPostings = async (database: Database, order: OrderId): Promise<Posting[]> => {
  const rows = await database
    .selectFrom('ledger_entries as e')
    .innerJoin('ledger_accounts as a', 'a.biz_id', 'e.account_biz_id')
    .where('e.order_biz_id', '=', order)
    .select([
      'e.biz_id as bizId',
      'a.kind',
      'e.account_biz_id as account',
      'e.workspace_biz_id as workspace',
      'e.currency',
      'e.amount',
      'e.flow_type as flowType',
      'e.created_at as createdAt',
    ])
    .orderBy('e.created_at')
    .orderBy('e.amount')
    .execute()
  return rows.map(({ currency, amount, ...row }) => ({ ...row, amount: money(amount, currency) }))
}
