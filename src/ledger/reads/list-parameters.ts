import {
  bizId,
  type Instant,
  type PageRequest,
  parseInterval,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import type { OrderQuery } from './orders-store.ts'

/** The common parameters of a list request, as the contract's `listQuery` parses them. */
interface ListRequest extends PageRequest {
  sortOrder: 'asc' | 'desc'
  startTime?: string | undefined
  endTime?: string | undefined
}

/** The common parameters of a list, as the stores take them. */
export interface ListParameters extends PageRequest {
  sortOrder: 'asc' | 'desc'
  from: Instant | undefined
  to: Instant | undefined
}

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

/** The parameters of the order lists, of members and of operators. */
export interface OrderListRequest extends ListRequest {
  sortBy: 'createdAt' | 'updatedAt'
  walletId?: string | undefined
  workspaceId?: string | undefined
  workspaceKind?: WorkspaceKind | undefined
}

/** The store query of an order list. A workspace of null selects the request's `workspaceId`, or orders of every workspace. */
export const toOrderQuery = (
  request: OrderListRequest,
  { type, workspace, status }: { type: OrderQuery['type']; workspace: WorkspaceId | null; status?: string | undefined },
): OrderQuery => ({
  ...toListParameters(request),
  sortBy: request.sortBy,
  type,
  workspace: workspace ?? (request.workspaceId === undefined ? null : bizId<'workspace'>(request.workspaceId)),
  workspaceKind: request.workspaceKind,
  wallet: request.walletId === undefined ? undefined : bizId<'wallet'>(request.walletId),
  statuses: status === undefined ? undefined : [status],
})
