import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import {
  containsEmail,
  containsText,
  type Database,
  type Param,
  readPage,
  statement,
  type Tx,
  timestamptz,
} from '../../database/index.ts'
import type { AccountId, Instant, Page, PageRequest, RoleId, WorkspaceId } from '../../kernel/index.ts'

type Store = Database | Tx

const membershipColumns = [
  'm.account_biz_id as accountId',
  'm.workspace_biz_id as workspaceId',
  'm.join_source as joinSource',
  'm.is_default as isDefault',
  'm.policy_config as policyConfig',
  'm.created_at as createdAt',
  'm.updated_at as updatedAt',
  'w.workspace_name as workspaceName',
  'w.workspace_kind as workspaceKind',
  'w.workspace_status as workspaceStatus',
  'w.institution_biz_id as institutionId',
  'r.biz_id as roleId',
  'r.role_name as roleName',
  'r.role_type as roleType',
  'r.permission_codes as permissionCodes',
] as const

/** Selects memberships with their workspaces and roles. The caller adds the condition for the account or workspace. */
const joinedMemberships = (store: Store) =>
  store
    .selectFrom('memberships as m')
    .innerJoin('workspaces as w', 'w.biz_id', 'm.workspace_biz_id')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )

const memberships = (store: Store, accountId: RawBuilder<AccountId>) =>
  joinedMemberships(store).where('m.account_biz_id', '=', accountId).select(membershipColumns)

type RowOf<Q> = Q extends SelectQueryBuilder<infer _DB, infer _TB, infer O> ? O : never
/** A membership with its workspace and role. */
export type MembershipRow = RowOf<ReturnType<typeof memberships>>

const membership = statement((store, parameter: Param<{ accountId: AccountId; workspaceId: WorkspaceId }>) =>
  memberships(store, parameter('accountId')).where('m.workspace_biz_id', '=', parameter('workspaceId')),
)

/** Returns the membership of an account in a workspace. */
export const membershipIn = (
  store: Store,
  accountId: AccountId,
  workspaceId: WorkspaceId,
): Promise<MembershipRow | undefined> => membership.first(store, { accountId, workspaceId })

/** Whether a person is a member with any account. A person has the same e-mail address at both portals. */
export const isPersonIn = async (store: Store, accountId: AccountId, workspaceId: WorkspaceId): Promise<boolean> => {
  const found = store
    .selectFrom('accounts as own')
    .innerJoin('accounts as member', 'member.email_canonical', 'own.email_canonical')
    .innerJoin('memberships as m', 'm.account_biz_id', 'member.biz_id')
    .where('own.biz_id', '=', accountId)
    .where('m.workspace_biz_id', '=', workspaceId)
    .select('m.account_biz_id')
  return (await found.executeTakeFirst()) !== undefined
}

/** The default membership first, then those in active workspaces, oldest first. */
const orderedMemberships = statement((store, parameter: Param<{ accountId: AccountId; limit: number | null }>) =>
  memberships(store, parameter('accountId'))
    .orderBy('m.is_default', 'desc')
    .orderBy(sql`w.workspace_status = 'ACTIVE'`, 'desc')
    .orderBy('m.created_at')
    .orderBy('m.workspace_biz_id')
    .limit(parameter('limit')),
)

/** Returns all memberships of an account. */
export const membershipsOf = (store: Store, accountId: AccountId): Promise<MembershipRow[]> =>
  orderedMemberships.all(store, { accountId, limit: null })

/** Returns the first membership of an account in that order. */
export const firstMembershipOf = (store: Store, accountId: AccountId): Promise<MembershipRow | undefined> =>
  orderedMemberships.first(store, { accountId, limit: 1 })

/**
 * Returns the number of workspaces of an account. Locks the account, so that it cannot join another one concurrently.
 */
export const countMemberships = async (tx: Tx, accountId: AccountId): Promise<number> => {
  await tx.selectFrom('accounts').select('biz_id').where('biz_id', '=', accountId).forNoKeyUpdate().execute()
  const { count } = await tx
    .selectFrom('memberships')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('account_biz_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Returns the limits of a workspace's other owners whose accounts are active. Locks these accounts in the order of
 * their ids, so that none of them is suspended concurrently.
 */
export const otherOwners = (
  tx: Tx,
  workspaceId: WorkspaceId,
  accountId: AccountId,
): Promise<Pick<MembershipRow, 'policyConfig'>[]> =>
  tx
    .selectFrom('memberships as m')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )
    .where('m.workspace_biz_id', '=', workspaceId)
    .innerJoin('accounts as a', 'a.biz_id', 'm.account_biz_id')
    .where('r.role_type', '=', 'OWNER')
    .where('m.account_biz_id', '!=', accountId)
    .where('a.account_status', '=', 'ACTIVE')
    .select('m.policy_config as policyConfig')
    .orderBy('a.biz_id')
    .forShare('a')
    .execute()

/** A membership with the account of its member. */
export interface MemberRow extends MembershipRow {
  accountName: string
  accountEmail: string
}

export interface MemberQuery extends PageRequest {
  workspaceId: WorkspaceId
  roleId: RoleId | undefined
  /** Part of the name. Case is ignored. */
  name: string | undefined
  /** Part of the address. Case and full-width forms are ignored. */
  email: string | undefined
  from: Instant | undefined
  to: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'accountName'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'm.created_at', updatedAt: 'm.updated_at', accountName: 'a.account_name' } as const

const membersIn = (store: Store, workspaceId: WorkspaceId) =>
  joinedMemberships(store)
    .innerJoin('accounts as a', 'a.biz_id', 'm.account_biz_id')
    .where('m.workspace_biz_id', '=', workspaceId)

const memberColumns = [...membershipColumns, 'a.account_name as accountName', 'a.email as accountEmail'] as const

/** Returns a member. Throws if the member does not exist. */
export const memberIn = (tx: Tx, workspaceId: WorkspaceId, accountId: AccountId): Promise<MemberRow> =>
  membersIn(tx, workspaceId).where('m.account_biz_id', '=', accountId).select(memberColumns).executeTakeFirstOrThrow()

/** Returns one page of the members of a workspace. */
export const listMembers = (database: Database, query: MemberQuery): Promise<Page<MemberRow>> => {
  const { roleId, name, email, from, to } = query
  let found = membersIn(database, query.workspaceId)
  if (roleId) found = found.where('m.role_biz_id', '=', roleId)
  if (name) found = found.where(containsText('a.account_name', name))
  if (email) found = found.where(containsEmail('a.email_canonical', email))
  if (from !== undefined) found = found.where('m.created_at', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('m.created_at', '<=', timestamptz(to))
  const sorted = found
    .select(memberColumns)
    .orderBy(sortColumns[query.sortBy], query.sortOrder)
    .orderBy('m.account_biz_id', query.sortOrder)
  return readPage(found, sorted, query)
}
