import { containsEmail, containsText, type Database, moment, readPage, type Tx } from '../../database/index.ts'
import type { AccountId, Instant, Page, PageRequest, RoleId, WorkspaceId } from '../../kernel/index.ts'
import { joinedMemberships, type MembershipRow, membershipColumns } from './membership-store.ts'

export interface MemberRow extends MembershipRow {
  accountName: string
  accountEmail: string
}

export interface MemberQuery extends PageRequest {
  workspaceId: WorkspaceId
  roleId: RoleId | undefined
  /** Part of it, in any case. */
  name: string | undefined
  /** Part of it, in any case and width. */
  email: string | undefined
  from: Instant | undefined
  to: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'accountName'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'm.created_at', updatedAt: 'm.updated_at', accountName: 'a.account_name' } as const

const membersIn = (store: Database | Tx, workspaceId: WorkspaceId) =>
  joinedMemberships(store)
    .innerJoin('accounts as a', 'a.biz_id', 'm.account_biz_id')
    .where('m.workspace_biz_id', '=', workspaceId)

const memberColumns = [...membershipColumns, 'a.account_name as accountName', 'a.email as accountEmail'] as const

export const memberIn = (tx: Tx, workspaceId: WorkspaceId, accountId: AccountId): Promise<MemberRow> =>
  membersIn(tx, workspaceId).where('m.account_biz_id', '=', accountId).select(memberColumns).executeTakeFirstOrThrow()

export const listMembers = (database: Database, query: MemberQuery): Promise<Page<MemberRow>> => {
  const { roleId, name, email, from, to } = query
  let found = membersIn(database, query.workspaceId)
  if (roleId) found = found.where('m.role_biz_id', '=', roleId)
  if (name) found = found.where(containsText('a.account_name', name))
  if (email) found = found.where(containsEmail('a.email_canonical', email))
  if (from !== undefined) found = found.where('m.created_at', '>=', moment(from))
  if (to !== undefined) found = found.where('m.created_at', '<=', moment(to))
  const ordered = found
    .select(memberColumns)
    .orderBy(sortColumns[query.sortBy], query.sortOrder)
    .orderBy('m.account_biz_id', query.sortOrder)
  return readPage(found, ordered, query)
}
