import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Grant } from '../../contract/permissions.ts'
import {
  containsEmail,
  containsText,
  type Database,
  type Param,
  readByKeys,
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
  'm.owner_since as ownerSince',
  'm.payouts_since as payoutsSince',
  'm.suspended_at as suspendedAt',
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

type RowOf<Q> = Q extends SelectQueryBuilder<infer _DB, infer _TB, infer O> ? O : never
export type MembershipRow = RowOf<ReturnType<typeof memberships>>

const membership = statement((store, parameter: Param<{ accountId: AccountId; workspaceId: WorkspaceId }>) =>
  memberships(store, parameter('accountId')).where('m.workspace_biz_id', '=', parameter('workspaceId')),
)

/** Serializes what a member grants with the recovery that suspends the member. */
export async function lockMembership(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
  await tx
    .selectFrom('memberships')
    .select('account_biz_id')
    .where('account_biz_id', '=', accountId)
    .where('workspace_biz_id', '=', workspaceId)
    .forShare()
    .execute()
}

export function membershipIn(
  store: Store,
  accountId: AccountId,
  workspaceId: WorkspaceId,
): Promise<MembershipRow | undefined> {
  return membership.first(store, { accountId, workspaceId })
}

/** src/ledger/schema/duties.ts defines the SQL function. */
export async function isPersonIn(store: Store, accountId: AccountId, workspaceId: WorkspaceId): Promise<boolean> {
  const { rows } = await sql<{ isMember: boolean }>`
    SELECT is_person_in(${accountId}, ARRAY[${workspaceId}::uuid]) AS "isMember"`.execute(store)
  return rows[0]?.isMember !== false
}

/** Whether an operator account of the person has acted on the workspace: see src/ledger/schema/duties.ts. */
export async function hasPersonDecided(
  tx: Tx,
  { accountId, workspaceId }: Pick<MembershipRow, 'accountId' | 'workspaceId'>,
): Promise<boolean> {
  const { rows } = await sql<{ hasDecided: boolean }>`
    SELECT has_person_decided(${accountId}, ${workspaceId}) AS "hasDecided"`.execute(tx)
  return rows[0]?.hasDecided !== false
}

const orderedMemberships = statement((store, parameter: Param<{ accountId: AccountId; limit: number | null }>) =>
  memberships(store, parameter('accountId'))
    .orderBy('m.is_default', 'desc')
    .orderBy(sql`w.workspace_status = 'ACTIVE'`, 'desc')
    .orderBy('m.created_at')
    .orderBy('m.workspace_biz_id')
    .limit(parameter('limit')),
)

export function membershipsOf(store: Store, accountId: AccountId): Promise<MembershipRow[]> {
  return orderedMemberships.all(store, { accountId, limit: null })
}

/** Returns the first membership of an account, in the order of `membershipsOf`. */
export function firstMembershipOf(store: Store, accountId: AccountId): Promise<MembershipRow | undefined> {
  return orderedMemberships.first(store, { accountId, limit: 1 })
}

/** Locks the account, so that it cannot join another workspace concurrently. */
export async function countMemberships(tx: Tx, accountId: AccountId): Promise<number> {
  await tx.selectFrom('accounts').select('biz_id').where('biz_id', '=', accountId).forNoKeyUpdate().execute()
  const { count } = await tx
    .selectFrom('memberships')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('account_biz_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return count
}

type Owner = Pick<MembershipRow, 'accountId' | 'policyConfig'>

/** Locks the accounts in the order of their ids, so that none of them is suspended concurrently. */
export function activeOwners(tx: Tx, workspaceId: WorkspaceId): Promise<Owner[]> {
  return ownersOf(tx, workspaceId).execute()
}

/** Like `activeOwners`, without one account. */
export function otherOwners(tx: Tx, workspaceId: WorkspaceId, accountId: AccountId): Promise<Owner[]> {
  return ownersOf(tx, workspaceId).where('m.account_biz_id', '!=', accountId).execute()
}

export async function ownerRoleOf(tx: Tx, workspaceId: WorkspaceId): Promise<RoleId> {
  const role = tx.selectFrom('roles').select('biz_id as id').where('workspace_biz_id', '=', workspaceId)
  return (await role.where('role_type', '=', 'OWNER').executeTakeFirstOrThrow()).id
}

export function roleIn(tx: Tx, { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId }): Promise<Grant> {
  return tx
    .selectFrom('roles')
    .select(['role_type as type', 'permission_codes as permissionCodes'])
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', roleId)
    .executeTakeFirstOrThrow()
}

export async function roleNameIn(
  tx: Tx,
  { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId },
): Promise<string | undefined> {
  const role = tx.selectFrom('roles').select('role_name as name').where('workspace_biz_id', '=', workspaceId)
  return (await role.where('biz_id', '=', roleId).executeTakeFirst())?.name
}

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

const memberColumns = [...membershipColumns, 'a.account_name as accountName', 'a.email as accountEmail'] as const

export function memberIn(tx: Tx, workspaceId: WorkspaceId, accountId: AccountId): Promise<MemberRow> {
  return membersIn(tx, workspaceId)
    .where('m.account_biz_id', '=', accountId)
    .select(memberColumns)
    .executeTakeFirstOrThrow()
}

export function listMembers(database: Database, query: MemberQuery): Promise<Page<MemberRow>> {
  const keys = sortedKeys(database, query).orderBy('m.account_biz_id', query.sortOrder)
  const sorted = readByKeys(keys, (page) =>
    membersIn(database, query.workspaceId)
      .where('m.account_biz_id', 'in', page)
      .select(memberColumns)
      .orderBy(sortColumns[query.sortBy], query.sortOrder)
      .orderBy('m.account_biz_id', query.sortOrder),
  )
  return readPage(matchingMembers(database, query), sorted, query)
}

export async function ownersToNotify(tx: Tx, workspaceId: WorkspaceId): Promise<AccountId[]> {
  const rows = await tx
    .selectFrom('memberships as m')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )
    .where('m.workspace_biz_id', '=', workspaceId)
    .where('r.role_type', '=', 'OWNER')
    .where('m.suspended_at', 'is', null)
    .select('m.account_biz_id as accountId')
    .orderBy('m.created_at')
    .orderBy('m.account_biz_id')
    .limit(maxRecipients)
    .execute()
  return rows.map(({ accountId }) => accountId)
}

export function personById(
  database: Database,
  id: AccountId,
): Promise<{ email: string; language: string } | undefined> {
  return database
    .selectFrom('accounts')
    .select(['email', 'default_language as language'])
    .where('biz_id', '=', id)
    .executeTakeFirst()
}

export async function workspaceName(database: Database, id: WorkspaceId): Promise<string | undefined> {
  return (await database.selectFrom('workspaces').select('workspace_name').where('biz_id', '=', id).executeTakeFirst())
    ?.workspace_name
}

/** Maximum number of owners who get a notice. */
const maxRecipients = 100

function memberships(store: Store, accountId: RawBuilder<AccountId>) {
  return joinedMemberships(store).where('m.account_biz_id', '=', accountId).select(membershipColumns)
}

/** The caller adds the condition for the account or workspace. */
function joinedMemberships(store: Store) {
  return store
    .selectFrom('memberships as m')
    .innerJoin('workspaces as w', 'w.biz_id', 'm.workspace_biz_id')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )
}

function ownersOf(tx: Tx, workspaceId: WorkspaceId) {
  return tx
    .selectFrom('memberships as m')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )
    .where('m.workspace_biz_id', '=', workspaceId)
    .innerJoin('accounts as a', 'a.biz_id', 'm.account_biz_id')
    .where('r.role_type', '=', 'OWNER')
    .where('m.suspended_at', 'is', null)
    .where('a.account_status', '=', 'ACTIVE')
    .select(['m.account_biz_id as accountId', 'm.policy_config as policyConfig'])
    .orderBy('a.biz_id')
    .forShare('a')
}

function membersIn(store: Store, workspaceId: WorkspaceId) {
  return joinedMemberships(store)
    .innerJoin('accounts as a', 'a.biz_id', 'm.account_biz_id')
    .where('m.workspace_biz_id', '=', workspaceId)
}

function sortedKeys(database: Database, query: MemberQuery) {
  const keys = matchingMembers(database, query).select('m.account_biz_id')
  if (query.sortBy !== 'accountName') return keys.orderBy(sortColumns[query.sortBy], query.sortOrder)
  return keys.orderBy(
    ({ selectFrom }) =>
      selectFrom('accounts as a').select('a.account_name').whereRef('a.biz_id', '=', 'm.account_biz_id'),
    query.sortOrder,
  )
}

/** The count and the search for keys join accounts only if a filter or the order needs them. */
function matchingMembers(database: Database, { workspaceId, roleId, name, email, from, to }: MemberQuery) {
  let found = database
    .selectFrom('memberships as m')
    .where('m.workspace_biz_id', '=', workspaceId)
    .where(sql<boolean>`m.created_at > '-infinity'`)
  if (roleId) found = found.where('m.role_biz_id', '=', roleId)
  if (from !== undefined) found = found.where('m.created_at', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('m.created_at', '<=', timestamptz(to))
  if (!name && !email) return found
  return found.where(({ exists, selectFrom }) => {
    let account = selectFrom('accounts as a').select('a.biz_id').whereRef('a.biz_id', '=', 'm.account_biz_id')
    if (name) account = account.where(containsText('a.account_name', name))
    if (email) account = account.where(containsEmail('a.email_canonical', email))
    return exists(account)
  })
}
