import {
  bizId,
  type Instant,
  type PageRequest,
  parseInterval,
  type WalletId,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import type { OrderType } from '../contract.ts'
import type { OrderExpiry } from '../order.ts'

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
export function toListParameters({
  currentPage,
  pageSize,
  before,
  sortOrder,
  startTime,
  endTime,
}: ListRequest): ListParameters {
  return {
    currentPage,
    pageSize,
    before,
    sortOrder,
    ...parseInterval({ startTime, endTime }),
  }
}

/** The numbers and references of an order that people know. Compared with the text as stored, or with `referenceKey`. */
interface OrderReferences {
  orderNo?: string | undefined
  clientReference?: string | undefined
  externalReference?: string | undefined
}

/** A query for orders. `from` and `to` limit the creation time. */
export interface OrderQuery extends ListParameters, OrderReferences {
  type: OrderType
  /** Null for an operator. */
  workspace: WorkspaceId | null
  /** For operators only. Selects orders that this workspace created or received. */
  participant?: WorkspaceId | undefined
  workspaceKind?: WorkspaceKind | undefined
  wallet?: WalletId | undefined
  statuses?: readonly string[] | undefined
  /** If set, an order counts as expired even before the job has updated its stored status. */
  expiry?: (OrderExpiry & { at: Instant }) | undefined
  data?: Readonly<Record<string, string>> | undefined
  sortBy: 'createdAt' | 'updatedAt'
}

export interface DueQuery {
  type: OrderType
  status: string
  /** Selects orders whose `expiresAt` is at or before this instant. */
  at: Instant
  /** Null for all workspaces. */
  workspace: WorkspaceId | null
  limit: number
}

export interface OrderListRequest extends ListRequest, OrderReferences {
  sortBy: 'createdAt' | 'updatedAt'
  walletId?: string | undefined
  workspaceId?: string | undefined
  workspaceKind?: WorkspaceKind | undefined
}

/** Returns the query of a list of orders. If `workspace` is null, the request's own workspace filter applies. */
export function toOrderQuery(
  request: OrderListRequest,
  { type, workspace, status }: { type: OrderType; workspace: WorkspaceId | null; status?: string | undefined },
): OrderQuery {
  return {
    ...toListParameters(request),
    sortBy: request.sortBy,
    orderNo: request.orderNo,
    clientReference: request.clientReference,
    externalReference: request.externalReference,
    type,
    workspace: workspace ?? (request.workspaceId === undefined ? null : bizId<'workspace'>(request.workspaceId)),
    workspaceKind: request.workspaceKind,
    wallet: request.walletId === undefined ? undefined : bizId<'wallet'>(request.walletId),
    statuses: status === undefined ? undefined : [status],
  }
}
