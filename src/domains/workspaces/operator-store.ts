import { containsText, type Database, moment, readPage, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Page,
  type PageRequest,
  toDate,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'

import { type WorkspaceRow, workspaceColumns } from './store.ts'

export const setWorkspaceStatus = (
  tx: Tx,
  id: WorkspaceId,
  status: WorkspaceStatus,
  at: Instant,
): Promise<WorkspaceRow> =>
  tx
    .updateTable('workspaces')
    .set({ workspace_status: status, updated_at: toDate(at) })
    .where('biz_id', '=', id)
    .returning(workspaceColumns)
    .executeTakeFirstOrThrow()

/** Closes the workspace that an account's registration opened. */
export const freezeOwnWorkspace = async (tx: Tx, accountId: AccountId, at: Instant): Promise<void> => {
  await tx
    .updateTable('workspaces')
    .set({ workspace_status: 'FROZEN', updated_at: toDate(at) })
    .where('biz_id', 'in', (eb) =>
      eb
        .selectFrom('memberships')
        .select('workspace_biz_id')
        .where('account_biz_id', '=', accountId)
        .where('join_source', '=', 'REGISTRATION'),
    )
    .execute()
}

export interface WorkspaceQuery extends PageRequest {
  status?: WorkspaceStatus | undefined
  kind?: WorkspaceKind | undefined
  /** Part of a name, in any case. */
  name?: string | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'workspaceName'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', updatedAt: 'updated_at', workspaceName: 'workspace_name' } as const

export const listWorkspaces = (database: Database, query: WorkspaceQuery): Promise<Page<WorkspaceRow>> => {
  let found = database.selectFrom('workspaces')
  if (query.status) found = found.where('workspace_status', '=', query.status)
  if (query.kind) found = found.where('workspace_kind', '=', query.kind)
  if (query.name) found = found.where(containsText('workspace_name', query.name))
  if (query.from !== undefined) found = found.where('created_at', '>=', moment(query.from))
  if (query.to !== undefined) found = found.where('created_at', '<=', moment(query.to))
  const ordered = found
    .select(workspaceColumns)
    .orderBy(sortColumns[query.sortBy], query.sortOrder)
    .orderBy('biz_id', query.sortOrder)
  return readPage(found, ordered, query)
}
