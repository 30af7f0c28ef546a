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

/** The query parameters that all list requests have in common, as parsed by the contract's `listQuery`. */
interface ListRequest extends PageRequest {
  sortOrder: 'asc' | 'desc'
  startTime?: string | undefined
  endTime?: string | undefined
}

/** The parameters that all list queries have in common. `from` and `to` are inclusive. */
export interface ListParameters extends PageRequest {
  sortOrder: 'asc' | 'desc'
  from?: Instant | undefined
  to?: Instant | undefined
}

/** Returns the list parameters of a request. Parses `startTime` and `endTime` into instants. */
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

/** A query for orders. `from` and `to` limit the creation time. */
export interface OrderQuery extends ListParameters {
  type: OrderType
  /** Null for an operator, who can see orders of all workspaces. */
  workspace: WorkspaceId | null
  /** Used by operators only. Selects orders that this workspace created, and orders of which it is the counterparty. */
  participant?: WorkspaceId | undefined
  /** Selects orders of LIVE or of SANDBOX workspaces. If undefined, selects orders of all workspaces. */
  workspaceKind?: WorkspaceKind | undefined
  wallet?: WalletId | undefined
  statuses?: readonly string[] | undefined
  /**
   * If defined, orders count as expired from their `expiresAt`, even if the job has not updated their stored status
   * yet.
   */
  expiry?: (OrderExpiry & { at: Instant }) | undefined
  /** Fields and values that the order's data must contain. */
  data?: Readonly<Record<string, string>> | undefined
  sortBy: 'createdAt' | 'updatedAt'
}

/** A query for orders that are due to expire. */
export interface DueQuery {
  type: OrderType
  status: string
  /** Selects orders whose `expiresAt` is at or before this instant. */
  at: Instant
  /** Null for orders of all workspaces. */
  workspace: WorkspaceId | null
  limit: number
}

/** The query parameters of order lists, for members and operators. */
export interface OrderListRequest extends ListRequest {
  sortBy: 'createdAt' | 'updatedAt'
  walletId?: string | undefined
  workspaceId?: string | undefined
  workspaceKind?: WorkspaceKind | undefined
}

/**
 * Returns the query for an order list. If `workspace` is null, the request's `workspaceId` applies. If the request has
 * no `workspaceId` either, the query selects orders of all workspaces.
 */
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
