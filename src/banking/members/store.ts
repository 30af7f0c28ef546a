import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Grant } from '../../contract/permissions.ts'
import {
  type Database,
  findEmail,
  findText,
  type Param,
  readByKeys,
  readPage,
  statement,
  type Tx,
  timestamptz,
} from '../../database/index.ts'
import type { AccountId, Instant, Page, PageRequest, Portal, RoleId, WorkspaceId } from '../../kernel/index.ts'

type Store = Database | Tx

const membershipColumns = [
  'm.accountBizId as accountId',
  'm.workspaceBizId as workspaceId',
  'm.joinSource',
  'm.isDefault',
  'm.policyConfig',
  'm.ownerSince',
  'm.payoutsSince',
  'm.suspendedAt',
  'm.createdAt',
  'm.updatedAt',
  'w.workspaceName',
  'w.workspaceKind',
  'w.workspaceStatus',
  'w.institutionBizId as institutionId',
  'r.bizId as roleId',
  'r.roleName',
  'r.roleType',
  'r.permissionCodes',
] as const

type RowOf<Q> = Q extends SelectQueryBuilder<infer _DB, infer _TB, infer O> ? O : never
export type MembershipRow = RowOf<ReturnType<typeof memberships>>

const membership = statement((store, parameter: Param<{ accountId: AccountId; workspaceId: WorkspaceId }>) =>
  memberships(store, parameter('accountId')).where('m.workspaceBizId', '=', parameter('workspaceId')),
)

export interface MembershipKey {
  accountId: AccountId
  workspaceId: WorkspaceId
}

const membershipsByKey = statement((store, param: Param<{ accounts: AccountId[]; workspaces: WorkspaceId[] }>) =>
  joinedMemberships(store)
    .where(
      sql<SqlBool>`(m.account_biz_id, m.workspace_biz_id) IN (
        SELECT * FROM unnest(${param('accounts')}::uuid[], ${param('workspaces')}::uuid[]))`,
    )
    .select(membershipColumns),
)

export function readMemberships(store: Store, keys: readonly MembershipKey[]): Promise<MembershipRow[]> {
  const [accounts, workspaces] = [keys.map(({ accountId }) => accountId), keys.map(({ workspaceId }) => workspaceId)]
  return membershipsByKey.all(store, { accounts, workspaces })
}

/** Serializes what a member grants with the recovery that suspends the member. */
export async function lockMembership(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
  await tx
    .selectFrom('memberships')
    .select('accountBizId')
    .where('accountBizId', '=', accountId)
    .where('workspaceBizId', '=', workspaceId)
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
    .orderBy('m.isDefault', 'desc')
    .orderBy(sql`w.workspace_status = 'ACTIVE'`, 'desc')
    .orderBy('m.createdAt')
    .orderBy('m.workspaceBizId')
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
  await tx.selectFrom('accounts').select('bizId').where('bizId', '=', accountId).forNoKeyUpdate().execute()
  const { count } = await tx
    .selectFrom('memberships')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('accountBizId', '=', accountId)
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
  return ownersOf(tx, workspaceId).where('m.accountBizId', '!=', accountId).execute()
}

export async function ownerRoleOf(tx: Tx, workspaceId: WorkspaceId): Promise<RoleId> {
  const role = tx.selectFrom('roles').select('bizId as id').where('workspaceBizId', '=', workspaceId)
  return (await role.where('roleType', '=', 'OWNER').executeTakeFirstOrThrow()).id
}

export function roleIn(tx: Tx, { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId }): Promise<Grant> {
  return tx
    .selectFrom('roles')
    .select(['roleType', 'permissionCodes'])
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', roleId)
    .executeTakeFirstOrThrow()
}

export async function roleNameIn(
  tx: Tx,
  { workspaceId, roleId }: { workspaceId: WorkspaceId; roleId: RoleId },
): Promise<string | undefined> {
  const role = tx.selectFrom('roles').select('roleName as name').where('workspaceBizId', '=', workspaceId)
  return (await role.where('bizId', '=', roleId).executeTakeFirst())?.name
}

/** Whether an account belongs to the portal of a workspace. */
export async function isOfSamePortal(
  tx: Tx,
  { accountId, workspaceId }: Pick<MembershipRow, 'accountId' | 'workspaceId'>,
): Promise<boolean> {
  const found = await tx
    .selectFrom('accounts as a')
    .innerJoin('workspaces as w', 'w.portal', 'a.portal')
    .where('a.bizId', '=', accountId)
    .where('w.bizId', '=', workspaceId)
    .select('a.bizId')
    .executeTakeFirst()
  return found !== undefined
}

export interface MemberRow extends MembershipRow {
  accountName: string
  accountEmail: string
}

/** The part of a member that views read. */
export type ShownMember = Omit<MemberRow, 'ownerSince' | 'payoutsSince'>

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

const sortColumns = { createdAt: 'm.createdAt', updatedAt: 'm.updatedAt', accountName: 'a.accountName' } as const

const memberColumns = [...membershipColumns, 'a.accountName', 'a.email as accountEmail'] as const

export function memberIn(tx: Tx, workspaceId: WorkspaceId, accountId: AccountId): Promise<MemberRow> {
  return membersIn(tx, workspaceId)
    .where('m.accountBizId', '=', accountId)
    .select(memberColumns)
    .executeTakeFirstOrThrow()
}

export async function listMembers(database: Database, query: MemberQuery): Promise<Page<MemberRow>> {
  const found = matchingMembers(database, query, await accountConditions(database, query))
  const keys = sortedKeys(found, query).orderBy('m.accountBizId', query.sortOrder)
  const sorted = readByKeys(keys, (page) =>
    membersIn(database, query.workspaceId)
      .where('m.accountBizId', 'in', page)
      .select(memberColumns)
      .orderBy(sortColumns[query.sortBy], query.sortOrder)
      .orderBy('m.accountBizId', query.sortOrder),
  )
  return readPage(found, sorted, query)
}

export async function ownersToNotify(tx: Tx, workspaceId: WorkspaceId): Promise<AccountId[]> {
  const rows = await tx
    .selectFrom('memberships as m')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspaceBizId', '=', 'm.workspaceBizId').onRef('r.bizId', '=', 'm.roleBizId'),
    )
    .where('m.workspaceBizId', '=', workspaceId)
    .where('r.roleType', '=', 'OWNER')
    .where('m.suspendedAt', 'is', null)
    .select('m.accountBizId as accountId')
    .orderBy('m.createdAt')
    .orderBy('m.accountBizId')
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
    .select(['email', 'defaultLanguage as language'])
    .where('bizId', '=', id)
    .executeTakeFirst()
}

export function workspaceById(
  database: Database,
  id: WorkspaceId,
): Promise<{ name: string; portal: Portal } | undefined> {
  return database
    .selectFrom('workspaces')
    .select(['workspaceName as name', 'portal'])
    .where('bizId', '=', id)
    .executeTakeFirst()
}

/** Maximum number of owners who get a notice. */
const maxRecipients = 100

function memberships(store: Store, accountId: RawBuilder<AccountId>) {
  return joinedMemberships(store).where('m.accountBizId', '=', accountId).select(membershipColumns)
}

/** The caller adds the condition for the account or workspace. */
function joinedMemberships(store: Store) {
  return store
    .selectFrom('memberships as m')
    .innerJoin('workspaces as w', 'w.bizId', 'm.workspaceBizId')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspaceBizId', '=', 'm.workspaceBizId').onRef('r.bizId', '=', 'm.roleBizId'),
    )
}

function ownersOf(tx: Tx, workspaceId: WorkspaceId) {
  return tx
    .selectFrom('memberships as m')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspaceBizId', '=', 'm.workspaceBizId').onRef('r.bizId', '=', 'm.roleBizId'),
    )
    .where('m.workspaceBizId', '=', workspaceId)
    .innerJoin('accounts as a', 'a.bizId', 'm.accountBizId')
    .where('r.roleType', '=', 'OWNER')
    .where('m.suspendedAt', 'is', null)
    .where('a.accountStatus', '=', 'ACTIVE')
    .select(['m.accountBizId as accountId', 'm.policyConfig'])
    .orderBy('a.bizId')
    .forShare('a')
}

function membersIn(store: Store, workspaceId: WorkspaceId) {
  return joinedMemberships(store)
    .innerJoin('accounts as a', 'a.bizId', 'm.accountBizId')
    .where('m.workspaceBizId', '=', workspaceId)
}

function sortedKeys(found: ReturnType<typeof matchingMembers>, query: MemberQuery) {
  const keys = found.select('m.accountBizId')
  if (query.sortBy !== 'accountName') return keys.orderBy(sortColumns[query.sortBy], query.sortOrder)
  return keys.orderBy(
    ({ selectFrom }) => selectFrom('accounts as a').select('a.accountName').whereRef('a.bizId', '=', 'm.accountBizId'),
    query.sortOrder,
  )
}

/** On accounts as `a`. */
async function accountConditions(database: Database, { name, email }: MemberQuery): Promise<RawBuilder<boolean>[]> {
  const accounts = { table: 'accounts', alias: 'a' } as const
  return [
    ...(name ? [await findText(database, { ...accounts, column: 'accountName', text: name })] : []),
    ...(email ? [await findEmail(database, { ...accounts, column: 'emailCanonical', text: email })] : []),
  ]
}

/** The count and the search for keys join accounts only if a filter or the order needs them. */
function matchingMembers(
  database: Database,
  { workspaceId, roleId, from, to }: MemberQuery,
  ofAccount: readonly RawBuilder<boolean>[],
) {
  let found = database
    .selectFrom('memberships as m')
    .where('m.workspaceBizId', '=', workspaceId)
    .where(sql<boolean>`m.created_at > '-infinity'`)
  if (roleId) found = found.where('m.roleBizId', '=', roleId)
  if (from !== undefined) found = found.where('m.createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('m.createdAt', '<=', timestamptz(to))
  if (ofAccount.length === 0) return found
  return found.where(({ exists, selectFrom }) =>
    exists(
      ofAccount.reduce(
        (account, condition) => account.where(condition),
        selectFrom('accounts as a').select('a.bizId').whereRef('a.bizId', '=', 'm.accountBizId'),
      ),
    ),
  )
}
