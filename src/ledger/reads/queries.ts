import {
  bizId,
  type Instant,
  type PageRequest,
  parseInterval,
  type WalletId,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import type { OrderExpiry } from '../order.ts'
import type { OrderType } from '../schema/tables.ts'

/** The common parameters of a list request, as the contract's `listQuery` parses them. */
interface ListRequest extends PageRequest {
  sortOrder: 'asc' | 'desc'
  startTime?: string | undefined
  endTime?: string | undefined
}

/** The common parameters of a list, as the stores take them. Both bounds of the time are inclusive. */
export interface ListParameters extends PageRequest {
  sortOrder: 'asc' | 'desc'
  from?: Instant | undefined
  to?: Instant | undefined
}

/** The list parameters of a request, with its interval parsed. */
export const toListParameters = ({
  currentPage,
  pageSize,
  sortOrder,
  startTime,
  endTime,
}: ListRequest): ListParameters => ({
  currentPage,
  pageSize,
  sortOrder,
  ...parseInterval({ startTime, endTime }),
})

/** A query of orders. `from` and `to` are bounds of the creation time. */
export interface OrderQuery extends ListParameters {
  type: OrderType
  /** Null for an operator, who sees orders of all workspaces. */
  workspace: WorkspaceId | null
  /** For an operator: the workspace that created the orders or receives their funds. */
  participant?: WorkspaceId | undefined
  /** Absent for orders of LIVE and SANDBOX workspaces. */
  workspaceKind?: WorkspaceKind | undefined
  wallet?: WalletId | undefined
  statuses?: readonly string[] | undefined
  /** Treats orders past their `expiresAt` as expired, even if the job has not recorded it yet. */
  expiry?: (OrderExpiry & { at: Instant }) | undefined
  /** Fields that the order's data must contain. */
  data?: Readonly<Record<string, string>> | undefined
  sortBy: 'createdAt' | 'updatedAt'
}

/** A query of orders that are due to expire. */
export interface DueQuery {
  type: OrderType
  status: string
  /** Selects orders whose `expiresAt` is at or before this instant. */
  at: Instant
  /** Null for orders of all workspaces. */
  workspace: WorkspaceId | null
  limit: number
}

/** The parameters of the order lists, of members and of operators. */
export interface OrderListRequest extends ListRequest {
  sortBy: 'createdAt' | 'updatedAt'
  walletId?: string | undefined
  workspaceId?: string | undefined
  workspaceKind?: WorkspaceKind | undefined
}

/** The query of an order list. A workspace of null selects the request's `workspaceId`, or orders of all workspaces. */
export const toOrderQuery = (
  request: OrderListRequest,
  { type, workspace, status }: { type: OrderType; workspace: WorkspaceId | null; status?: string | undefined },
): OrderQuery => ({
  ...toListParameters(request),
  sortBy: request.sortBy,
  type,
  workspace: workspace ?? (request.workspaceId === undefined ? null : bizId<'workspace'>(request.workspaceId)),
  workspaceKind: request.workspaceKind,
  wallet: request.walletId === undefined ? undefined : bizId<'wallet'>(request.walletId),
  statuses: status === undefined ? undefined : [status],
})
