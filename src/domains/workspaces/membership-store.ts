import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { type Database, type Given, statement, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type RoleId, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { JoinSource } from './contract.ts'
import { keepLimits, takeLimits } from './kept-limits-store.ts'
import { defaultOf, mayBeDefault } from './rules.ts'

type Store = Database | Tx

export const membershipColumns = [
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

/** Memberships with their workspaces and roles; whose or where is for the caller to say. */
export const joinedMemberships = (store: Store) =>
  store
    .selectFrom('memberships as m')
    .innerJoin('workspaces as w', 'w.biz_id', 'm.workspace_biz_id')
    .innerJoin('roles as r', (join) =>
      join.onRef('r.workspace_biz_id', '=', 'm.workspace_biz_id').onRef('r.biz_id', '=', 'm.role_biz_id'),
    )

const memberships = (store: Store, accountId: RawBuilder<AccountId>) =>
  joinedMemberships(store).where('m.account_biz_id', '=', accountId).select(membershipColumns)

type RowOf<Q> = Q extends SelectQueryBuilder<infer _DB, infer _TB, infer O> ? O : never
export type MembershipRow = RowOf<ReturnType<typeof memberships>>

const membership = statement((store, given: Given<{ accountId: AccountId; workspaceId: WorkspaceId }>) =>
  memberships(store, given('accountId')).where('m.workspace_biz_id', '=', given('workspaceId')),
)

export const membershipIn = (
  store: Store,
  accountId: AccountId,
  workspaceId: WorkspaceId,
): Promise<MembershipRow | undefined> => membership.first(store, { accountId, workspaceId })

/** Whether somebody belongs to a workspace, by any account of theirs: at both portals a person has the same address. */
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

/** The default one first, then those that can be entered, the oldest first: the order in which one is picked. */
const inOrder = statement((store, given: Given<{ accountId: AccountId; limit: number | null }>) =>
  memberships(store, given('accountId'))
    .orderBy('m.is_default', 'desc')
    .orderBy(sql`w.workspace_status = 'ACTIVE'`, 'desc')
    .orderBy('m.created_at')
    .orderBy('m.workspace_biz_id')
    .limit(given('limit')),
)

export const membershipsOf = (store: Store, accountId: AccountId): Promise<MembershipRow[]> =>
  inOrder.all(store, { accountId, limit: null })

export const firstMembershipOf = (store: Store, accountId: AccountId): Promise<MembershipRow | undefined> =>
  inOrder.first(store, { accountId, limit: 1 })

/** How many workspaces an account belongs to; its row is held, so that nobody adds it to another one meanwhile. */
export const countMemberships = async (tx: Tx, accountId: AccountId): Promise<number> => {
  await tx.selectFrom('accounts').select('biz_id').where('biz_id', '=', accountId).forNoKeyUpdate().execute()
  const { count } = await tx
    .selectFrom('memberships')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('account_biz_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return count
}

export interface NewMembership {
  workspaceId: WorkspaceId
  accountId: AccountId
  roleId: RoleId
  joinSource: JoinSource
}

const insertMembership = async (
  tx: Tx,
  made: NewMembership & { policyConfig: unknown },
  isDefault: boolean,
  at: Instant,
): Promise<boolean> => {
  const inserted = await tx
    .insertInto('memberships')
    .values({
      workspace_biz_id: made.workspaceId,
      account_biz_id: made.accountId,
      role_biz_id: made.roleId,
      join_source: made.joinSource,
      is_default: isDefault,
      policy_config: made.policyConfig === null ? null : JSON.stringify(made.policyConfig),
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('account_biz_id')
    .executeTakeFirst()
  return inserted !== undefined
}

/**
 * Whether the account became a member; false where it is one already. It becomes the default of an account that has
 * none. Two first ones at once are told apart by the index over defaults: the later becomes a plain one. Who was
 * limited when they left is limited as before.
 */
export const addMembership = async (tx: Tx, made: NewMembership, at: Instant): Promise<boolean> => {
  const has = defaultOf(await membershipsOf(tx, made.accountId))
  const policyConfig = await takeLimits(tx, made)
  const limited = { ...made, policyConfig }
  const isFirst = !has && mayBeDefault(policyConfig)
  return (isFirst && (await insertMembership(tx, limited, true, at))) || insertMembership(tx, limited, false, at)
}

/**
 * What the memberships of a workspace's other owners are limited to, of those whose accounts are active. The accounts are
 * held as they are, in the order of their ids: a suspension that is under way is waited for, and one that comes waits.
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

export const removeMembership = async (tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> => {
  const ended = await tx
    .deleteFrom('memberships')
    .where('account_biz_id', '=', accountId)
    .where('workspace_biz_id', '=', workspaceId)
    .returning('policy_config')
    .executeTakeFirst()
  if (ended && ended.policy_config !== null) await keepLimits(tx, { workspaceId, accountId }, ended.policy_config)
}

export const setRole = async (
  tx: Tx,
  member: { accountId: AccountId; workspaceId: WorkspaceId },
  roleId: RoleId,
  at: Instant,
): Promise<void> => {
  await tx
    .updateTable('memberships')
    .set({ role_biz_id: roleId, updated_at: toDate(at) })
    .where('account_biz_id', '=', member.accountId)
    .where('workspace_biz_id', '=', member.workspaceId)
    .execute()
}
