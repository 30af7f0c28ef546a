import { sql } from 'kysely'
import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type RoleId, toDate, type WorkspaceId } from '../../kernel/index.ts'
import { formerMemberHours } from '../../ledger/index.ts'
import type { JoinSource } from './contract.ts'
import { type Gain, gainColumns, newGainColumns } from './hold-store.ts'
import { findDefault, mayBeDefault } from './rules.ts'
import { membershipsOf } from './store.ts'

export interface MembershipId {
  workspaceId: WorkspaceId
  accountId: AccountId
}

/** Limits of a membership in addition to its role: see `rules.ts`. */
export type PolicyConfig = {
  enterable?: boolean | undefined
  defaultEligible?: boolean | undefined
  readOnly?: boolean | undefined
}

/** Clears the default flag if the limits do not allow it. */
export async function setLimits(
  tx: Tx,
  member: MembershipId,
  policyConfig: PolicyConfig | null,
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({
      policyConfig: policyConfig && JSON.stringify(policyConfig),
      updatedAt: toDate(at),
      ...(!mayBeDefault(policyConfig) && { isDefault: false }),
    })
    .where('accountBizId', '=', member.accountId)
    .where('workspaceBizId', '=', member.workspaceId)
    .execute()
}

/** Locks all memberships of the account to serialize concurrent calls. */
export async function makeDefault(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId, at: Instant): Promise<void> {
  await tx
    .selectFrom('memberships')
    .select('workspaceBizId')
    .where('accountBizId', '=', accountId)
    .orderBy('workspaceBizId')
    .forUpdate()
    .execute()
  const mine = tx.updateTable('memberships').where('accountBizId', '=', accountId)
  const now = toDate(at)
  await mine
    .set({ isDefault: false, updatedAt: now })
    .where('isDefault', '=', true)
    .where('workspaceBizId', '!=', workspaceId)
    .execute()
  await mine
    .set({ isDefault: true, updatedAt: now })
    .where('isDefault', '=', false)
    .where('workspaceBizId', '=', workspaceId)
    .execute()
}

export interface NewMembership extends MembershipId {
  roleId: RoleId
  joinSource: JoinSource
}

/** A founder gains nothing. */
type AddedMembership = NewMembership & { gain: Gain | null }

/**
 * Returns false if the account is already a member. The first membership that can be the default becomes it. For
 * concurrent calls, the unique index allows only one default.
 */
export async function addMembership(tx: Tx, member: AddedMembership, at: Instant): Promise<boolean> {
  const current = findDefault(await membershipsOf(tx, member.accountId))
  const policyConfig = await removeFormerLimits(tx, member)
  const limited = { ...member, policyConfig }
  const isFirst = !current && mayBeDefault(policyConfig)
  return (isFirst && (await insertMembership(tx, limited, true, at))) || insertMembership(tx, limited, false, at)
}

export async function removeMembership(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> {
  const ended = await tx
    .deleteFrom('memberships')
    .where('accountBizId', '=', accountId)
    .where('workspaceBizId', '=', workspaceId)
    .returning('policyConfig')
    .executeTakeFirst()
  if (ended && ended.policyConfig !== null) await storeFormerLimits(tx, { workspaceId, accountId }, ended.policyConfig)
}

/** A null `gain` keeps the start of the hold. */
export async function setRole(
  tx: Tx,
  member: MembershipId,
  { roleId, gain }: { roleId: RoleId; gain: Gain | null },
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ roleBizId: roleId, updatedAt: toDate(at), ...(gain && gainColumns(gain, at)) })
    .where('accountBizId', '=', member.accountId)
    .where('workspaceBizId', '=', member.workspaceId)
    .execute()
}

/** Deletes the memberships that ended too long ago to count. */
export async function deleteFormerMemberships(database: Database): Promise<void> {
  const retention = `${formerMemberHours} hours`
  await sql`DELETE FROM former_memberships WHERE ended_at <= clock_timestamp() - ${retention}::interval`.execute(
    database,
  )
}

async function removeFormerLimits(tx: Tx, { workspaceId, accountId }: MembershipId): Promise<unknown> {
  const former = await tx
    .deleteFrom('former_membership_limits')
    .where('workspaceBizId', '=', workspaceId)
    .where('accountBizId', '=', accountId)
    .returning('policyConfig')
    .executeTakeFirst()
  return former?.policyConfig ?? null
}

async function insertMembership(
  tx: Tx,
  member: AddedMembership & { policyConfig: unknown },
  isDefault: boolean,
  at: Instant,
): Promise<boolean> {
  const inserted = await tx
    .insertInto('memberships')
    .values({
      workspaceBizId: member.workspaceId,
      accountBizId: member.accountId,
      roleBizId: member.roleId,
      joinSource: member.joinSource,
      isDefault: isDefault,
      policyConfig: member.policyConfig === null ? null : JSON.stringify(member.policyConfig),
      ...(member.gain && newGainColumns(member.gain, at)),
      createdAt: toDate(at),
      updatedAt: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('accountBizId')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Leaving and joining again must not remove the limits. */
async function storeFormerLimits(
  tx: Tx,
  { workspaceId, accountId }: MembershipId,
  policyConfig: unknown,
): Promise<void> {
  const limits = {
    workspaceBizId: workspaceId,
    accountBizId: accountId,
    policyConfig: JSON.stringify(policyConfig),
  }
  // The row can already exist if the account joined again before it was stored.
  await tx
    .insertInto('former_membership_limits')
    .values(limits)
    .onConflict((conflict) =>
      conflict.columns(['workspaceBizId', 'accountBizId']).doUpdateSet({ policyConfig: limits.policyConfig }),
    )
    .execute()
}
