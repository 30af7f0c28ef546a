import { sql } from 'kysely'
import type { Tx } from '../../database/index.ts'
import { type AccountId, type BizId, type Instant, toDate } from '../../kernel/index.ts'
import type { Comparison } from './scim/attributes.ts'
import { nameKey, type Slice, type Store } from './store.ts'

export type GroupId = BizId<'provisionedGroup'>

export interface GroupRow {
  id: GroupId
  displayName: string
  externalId: string | null
  createdAt: Instant
  updatedAt: Instant
}

export interface MemberRow {
  groupId: GroupId
  id: AccountId
  userName: string
}

/** Returns undefined for a group of another provider. */
export function groupById(store: Store, providerId: string, id: string): Promise<GroupRow | undefined> {
  return groups(store, providerId)
    .where('bizId', '=', id as GroupId)
    .executeTakeFirst()
}

/** In the order of creation. `undefined` for a filter with another attribute. */
export async function listGroups(
  store: Store,
  providerId: string,
  { comparisons, offset, limit }: Slice,
): Promise<{ rows: GroupRow[]; total: number } | undefined> {
  const conditions = comparisons.map(groupCondition)
  let found = groups(store, providerId)
  for (const condition of conditions) {
    if (!condition) return undefined
    found = found.where(condition)
  }
  const rows = await found.orderBy('createdAt').orderBy('bizId').offset(offset).limit(Math.max(limit, 1)).execute()
  const counted = await found
    .clearSelect()
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { rows: rows.slice(0, limit), total: Number(counted.total) }
}

export function membersOf(store: Store, ids: readonly GroupId[]): Promise<MemberRow[]> {
  return store
    .selectFrom('provisioned_group_members as m')
    .innerJoin('provisioned_people as s', 's.accountBizId', 'm.accountBizId')
    .select(['m.groupBizId as groupId', 'm.accountBizId as id', 's.userName'])
    .where('m.groupBizId', 'in', ids)
    .orderBy('m.accountBizId')
    .execute()
}

/** The groups of a person. */
export function groupsOf(store: Store, providerId: string, id: AccountId): Promise<GroupRow[]> {
  return groups(store, providerId)
    .where('bizId', 'in', (eb) =>
      eb.selectFrom('provisioned_group_members').select('groupBizId').where('accountBizId', '=', id),
    )
    .execute()
}

export async function countGroups(store: Store, providerId: string): Promise<number> {
  const { total } = await store
    .selectFrom('provisioned_groups')
    .where('providerId', '=', providerId)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return Number(total)
}

type GroupNames = Pick<GroupRow, 'displayName' | 'externalId'>

/** Returns undefined if another group has the name or the external id. */
export function insertGroup(
  tx: Tx,
  group: GroupNames & { id: GroupId; providerId: string },
  at: Instant,
): Promise<GroupRow | undefined> {
  const { id: bizId, providerId, displayName, externalId } = group
  return tx
    .insertInto('provisioned_groups')
    .values({
      ...{ bizId, providerId, displayName, displayNameKey: nameKey(displayName), externalId },
      ...{ createdAt: toDate(at), updatedAt: toDate(at) },
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(columns)
    .executeTakeFirst()
}

/** Returns undefined if another group has the name or the external id. */
export async function updateGroup(
  tx: Tx,
  { id, providerId, displayName, externalId }: GroupNames & { id: GroupId; providerId: string },
  at: Instant,
): Promise<GroupRow | undefined> {
  const taken = await groups(tx, providerId)
    .where('bizId', '!=', id)
    .where((eb) => eb.or([eb('displayNameKey', '=', nameKey(displayName)), eb('externalId', '=', externalId)]))
    .executeTakeFirst()
  if (taken) return undefined
  return tx
    .updateTable('provisioned_groups')
    .set({ displayName, displayNameKey: nameKey(displayName), externalId, updatedAt: toDate(at) })
    .where('bizId', '=', id)
    .where('providerId', '=', providerId)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

export async function deleteGroup(tx: Tx, providerId: string, id: GroupId): Promise<void> {
  await tx.deleteFrom('provisioned_groups').where('bizId', '=', id).where('providerId', '=', providerId).execute()
}

export async function addMembers(tx: Tx, groupBizId: GroupId, ids: readonly AccountId[]): Promise<void> {
  if (ids.length === 0) return
  await tx
    .insertInto('provisioned_group_members')
    .values(ids.map((accountBizId) => ({ groupBizId, accountBizId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function removeMembers(tx: Tx, groupBizId: GroupId, ids: readonly AccountId[]): Promise<void> {
  if (ids.length === 0) return
  await tx
    .deleteFrom('provisioned_group_members')
    .where('groupBizId', '=', groupBizId)
    .where('accountBizId', 'in', ids)
    .execute()
}

export async function leaveGroups(tx: Tx, accountBizId: AccountId): Promise<void> {
  await tx.deleteFrom('provisioned_group_members').where('accountBizId', '=', accountBizId).execute()
}

const columns = ['bizId as id', 'displayName', 'externalId', 'createdAt', 'updatedAt'] as const

function groups(store: Store, providerId: string) {
  return store.selectFrom('provisioned_groups').select(columns).where('providerId', '=', providerId)
}

/** Null for an attribute without a column. */
function groupCondition({ attribute, value }: Comparison) {
  if (typeof value === 'boolean') return null
  switch (attribute) {
    case 'displayname':
      return sql<boolean>`display_name_key = ${nameKey(value)}`
    case 'externalid':
      return sql<boolean>`external_id = ${value}`
    case 'id':
      return sql<boolean>`biz_id::text = ${value.toLowerCase()}`
    case 'members':
    case 'members.value':
      return sql<boolean>`EXISTS (SELECT FROM provisioned_group_members m
        WHERE m.group_biz_id = provisioned_groups.biz_id AND m.account_biz_id::text = ${value.toLowerCase()})`
    default:
      return null
  }
}
