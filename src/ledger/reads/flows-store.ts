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

/** One entry of a wallet, for members of its workspace. */
export interface Flow {
  bizId: string
  sequence: number
  flowType: FlowType
  /** Signed: negative for an outgoing amount. */
  amount: Money
  balanceAfter: Money
  orderType: OrderType | null
  orderBizId: OrderId | null
  /** The remark of the order's creator. */
  remark: string | null
  createdAt: Instant
}

/** A query of a wallet's flows. `from` and `to` are bounds of their time. */
export interface FlowQuery extends ListParameters {
  wallet: WalletId
  workspace: WorkspaceId
  flowType?: FlowType | undefined
  direction?: FlowDirection | undefined
}

/** Checks the workspace on the account and not on each entry, so that a count needs only the index of entries. */
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
 * One page of flows without the total, sorted by time. Selects the page from the entries first and joins only its orders: a
 * join before the page would read all earlier orders.
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

/** One page of flows with the total. */
export const listFlows = async (database: Database, query: FlowQuery): Promise<Page<Flow>> => {
  const { total } = await countQuery(matchingEntries(database, query)).executeTakeFirstOrThrow()
  return toPage(await readFlows(database, query), total, query)
}

/** One entry of an order, for operators. Includes entries of house accounts. */
export interface Posting {
  bizId: string
  kind: string
  account: WalletId
  workspace: WorkspaceId | null
  amount: Money
  flowType: FlowType
  createdAt: Instant
}

/** All postings of an order, oldest first. */
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
