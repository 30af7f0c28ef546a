import { sql } from 'kysely'
import {
  type CodeOf,
  type Instant,
  type Money,
  mapPage,
  money,
  type OrderId,
  type Page,
  type PageRequest,
  type WalletId,
  type WorkspaceId,
} from '../kernel/index.ts'
import { type Database, moment, readPage, readSlice } from '../platform/database/index.ts'
import type { OrderType } from '../platform/database/tables/ledger.ts'

/** One posting to a wallet, as its owner reads it. */
export interface Flow {
  bizId: string
  sequence: number
  flowType: CodeOf<'flowType'>
  /** Signed: what went out is negative. */
  amount: Money
  balanceAfter: Money
  orderType: OrderType | null
  orderBizId: OrderId | null
  /** What the order's maker wrote on it. */
  remark: string | null
  createdAt: Instant
}

export interface FlowQuery extends PageRequest {
  wallet: WalletId
  workspace: WorkspaceId
  flowType?: CodeOf<'flowType'> | undefined
  direction?: CodeOf<'flowDirection'> | undefined
  /** Both ends count. */
  from?: Instant | undefined
  to?: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

const matching = (database: Database, { wallet, workspace, flowType, direction, from, to }: FlowQuery) => {
  let found = database
    .selectFrom('ledger_entries as e')
    .where('e.account_biz_id', '=', wallet)
    .where('e.workspace_biz_id', '=', workspace)
  if (flowType) found = found.where('e.flow_type', '=', flowType)
  if (direction) found = found.where('e.amount', direction === 'IN' ? '>' : '<', sql<bigint>`0`)
  if (from !== undefined) found = found.where('e.created_at', '>=', moment(from))
  if (to !== undefined) found = found.where('e.created_at', '<=', moment(to))
  return found
}

/** In the order in which they happened: an account's sequence and its time agree, and its time has the filters' index. */
const inOrder = (database: Database, query: FlowQuery) =>
  matching(database, query)
    .leftJoin('orders as o', 'o.biz_id', 'e.order_biz_id')
    .select([
      'e.biz_id as bizId',
      'e.sequence',
      'e.flow_type as flowType',
      'e.currency',
      'e.amount',
      'e.balance_after as balanceAfter',
      'o.order_type as orderType',
      'e.order_biz_id as orderBizId',
      sql<string | null>`o.data->>'remark'`.as('remark'),
      'e.created_at as createdAt',
    ])
    .orderBy('e.created_at', query.sortOrder)
    .orderBy('e.sequence', query.sortOrder)

type FlowRow = Omit<Flow, 'amount' | 'balanceAfter'> & { currency: string; amount: bigint; balanceAfter: bigint }

const flowOf = ({ currency, amount, balanceAfter, ...row }: FlowRow): Flow => ({
  ...row,
  amount: money(amount, currency),
  balanceAfter: money(balanceAfter, currency),
})

export const listFlows = async (database: Database, query: FlowQuery): Promise<Page<Flow>> =>
  mapPage(await readPage(matching(database, query), inOrder(database, query), query), flowOf)

/** A page's flows alone, for who reads a list to its end. */
export const readFlows = async (database: Database, query: FlowQuery): Promise<Flow[]> =>
  (await readSlice(inOrder(database, query), query)).map(flowOf)

/** One side of a booking, the house's included: for operators. */
export interface Posting {
  bizId: string
  kind: string
  account: WalletId
  workspace: WorkspaceId | null
  amount: Money
  flowType: CodeOf<'flowType'>
  createdAt: Instant
}

/** All postings of an order, in their order of time. */
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
