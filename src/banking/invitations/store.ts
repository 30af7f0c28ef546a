import { type SqlBool, sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type BizId, type Instant, type RoleId, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { InvitationStatus } from './contract.ts'
import type { ExhaustedLimit, InvitationSettings, OfferedRole } from './rules.ts'

export type InvitationId = BizId<'invitation'>

const open = ['PENDING', 'SUSPENDED'] as const

export interface InvitationRow {
  id: InvitationId
  workspaceId: WorkspaceId
  workspaceName: string
  email: string
  roleId: RoleId
  roleName: string
  inviterId: AccountId
  /** Who confirmed the invitation last, after a recovery suspended it. */
  confirmedBy: AccountId | null
  status: InvitationStatus
  declineReason: string | null
  message: string | null
  expiresAt: Instant
  respondedAt: Instant | null
  createdAt: Instant
  updatedAt: Instant
}

export type Side = { workspaceId: WorkspaceId } | { email: string }

export function listInvitations(
  database: Database,
  side: Side,
  status: InvitationStatus | undefined,
  at: Instant,
): Promise<InvitationRow[]> {
  let found = invitations(database, at)
  found =
    'email' in side
      ? found.where('i.invitee_email', '=', side.email)
      : found.where('i.workspace_biz_id', '=', side.workspaceId)
  if (status !== undefined) found = found.where(hasStatus(status, at))
  return found.orderBy('i.created_at', 'desc').orderBy('i.biz_id', 'desc').limit(500).execute()
}

export function invitationById(
  store: Database | Tx,
  id: InvitationId,
  side: Side,
  at: Instant,
): Promise<InvitationRow | undefined> {
  const found = invitations(store, at).where('i.biz_id', '=', id)
  return (
    'email' in side
      ? found.where('i.invitee_email', '=', side.email)
      : found.where('i.workspace_biz_id', '=', side.workspaceId)
  ).executeTakeFirst()
}

export interface NewInvitation {
  id: InvitationId
  workspaceId: WorkspaceId
  email: string
  roleId: RoleId
  roleName: string
  inviterId: AccountId
  message: string | null
  expiresAt: Instant
}

/** Allows a new invitation despite the unique index. */
export async function expireOverdue(tx: Tx, workspaceId: WorkspaceId, email: string, at: Instant): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ invitation_status: 'EXPIRED' })
    .where('workspace_biz_id', '=', workspaceId)
    .where('invitee_email', '=', email)
    .where('invitation_status', 'in', open)
    .where('expires_at', '<=', timestamptz(at))
    .execute()
}

/** Returns false if the address already has a pending one. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation, at: Instant): Promise<boolean> {
  const inserted = await tx
    .insertInto('invitations')
    .values({
      workspace_biz_id: invitation.workspaceId,
      biz_id: invitation.id,
      invitee_email: invitation.email,
      role_biz_id: invitation.roleId,
      role_name: invitation.roleName,
      inviter_biz_id: invitation.inviterId,
      invitation_status: 'PENDING',
      decline_reason: null,
      message: invitation.message,
      expires_at: toDate(invitation.expiresAt),
      created_at: toDate(at),
      updated_at: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('biz_id')
    .executeTakeFirst()
  return inserted !== undefined
}

/**
 * Covers all workspaces. Suspends what the account created, and what a suspect of the recovery created or confirmed.
 * `is_suspect` is in src/banking/members/suspicion-schema.ts.
 */
export async function suspendInvitationsOf(tx: Tx, inviterId: AccountId, at: Instant): Promise<number> {
  const recovery = [sql`${inviterId}::uuid`, timestamptz(at)]
  const suspects = sql<SqlBool>`ANY (suspects_of(${sql.join(recovery)}))`
  const suspected = sql<SqlBool>`
    (inviter_biz_id = ${suspects} AND is_suspect(${sql.join(recovery)}, workspace_biz_id, inviter_biz_id, created_at)
      OR enabled_by = ${suspects} AND is_suspect(${sql.join(recovery)}, workspace_biz_id, enabled_by, enabled_at))`
  const suspended = await tx
    .updateTable('invitations')
    .set({ invitation_status: 'SUSPENDED', updated_at: toDate(at) })
    .where(({ or, eb }) => or([eb('inviter_biz_id', '=', inviterId), suspected]))
    .where('invitation_status', '=', sql.lit('PENDING'))
    .where('expires_at', '>', timestamptz(at))
    .returning('biz_id')
    .execute()
  return suspended.length
}

/** Returns false if it is not suspended or has expired. */
export async function restoreInvitation(
  tx: Tx,
  { workspaceId, id }: Pick<InvitationRow, 'workspaceId' | 'id'>,
  { confirmedBy, at }: { confirmedBy: AccountId; at: Instant },
): Promise<boolean> {
  const restored = await tx
    .updateTable('invitations')
    .set({ invitation_status: 'PENDING', enabled_by: confirmedBy, enabled_at: toDate(at), updated_at: toDate(at) })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .where('invitation_status', '=', 'SUSPENDED')
    .where('expires_at', '>', timestamptz(at))
    .returning('biz_id')
    .executeTakeFirst()
  return restored !== undefined
}

/** A suspended invitation can only be cancelled. Returns false if it has another status. */
export async function settleInvitation(
  tx: Tx,
  { workspaceId, id }: Pick<InvitationRow, 'workspaceId' | 'id'>,
  status: 'ACCEPTED' | 'DECLINED' | 'CANCELLED',
  declineReason: string | null,
  at: Instant,
): Promise<boolean> {
  const settled = await tx
    .updateTable('invitations')
    .set({
      invitation_status: status,
      decline_reason: declineReason,
      updated_at: toDate(at),
      responded_at: status === 'CANCELLED' ? null : toDate(at),
    })
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .where('invitation_status', 'in', status === 'CANCELLED' ? open : ['PENDING'])
    .where('expires_at', '>', timestamptz(at))
    .returning('biz_id')
    .executeTakeFirst()
  return settled !== undefined
}

interface Recipient {
  workspaceId: WorkspaceId
  inviterId: AccountId
  email: string
}

/**
 * Returns the limit that prevents another invitation, or null. Limits count per workspace and per inviter, to all
 * addresses and to this one. An inviter's count covers all workspaces, so neither opening nor leaving workspaces raises
 * the limit. If several limits apply, returns the one that lasts longest.
 */
export async function findExhaustedLimit(
  tx: Tx,
  { workspaceId, inviterId, email }: Recipient,
  since: Instant,
  { maxPerDay, maxPerDayToAddress }: Pick<InvitationSettings, 'maxPerDay' | 'maxPerDayToAddress'>,
): Promise<ExhaustedLimit | null> {
  const newest = tx
    .selectFrom('invitations')
    .select('created_at')
    .where('created_at', '>', timestamptz(since))
    .orderBy('created_at', 'desc')
    .limit(1)
  const ofWorkspace = newest.where('workspace_biz_id', '=', workspaceId)
  const ofInviter = newest.where('inviter_biz_id', '=', inviterId)
  const oldest = await tx
    .selectNoFrom([
      ofWorkspace.offset(maxPerDay - 1).as('ofWorkspace'),
      ofInviter.offset(maxPerDay - 1).as('ofInviter'),
      ofWorkspace
        .where('invitee_email', '=', email)
        .offset(maxPerDayToAddress - 1)
        .as('ofWorkspaceToAddress'),
      ofInviter
        .where('invitee_email', '=', email)
        .offset(maxPerDayToAddress - 1)
        .as('ofInviterToAddress'),
    ])
    .executeTakeFirstOrThrow()
  const rules = [
    { name: 'invitations', limit: maxPerDay, since: oldest.ofWorkspace },
    { name: 'invitations-of-account', limit: maxPerDay, since: oldest.ofInviter },
    { name: 'invitations-to-address', limit: maxPerDayToAddress, since: oldest.ofWorkspaceToAddress },
    { name: 'invitations-to-address', limit: maxPerDayToAddress, since: oldest.ofInviterToAddress },
  ] as const
  let latest: ExhaustedLimit | null = null
  for (const { since: at, ...rule } of rules)
    if (at !== null && (latest === null || at > latest.since)) latest = { ...rule, since: at }
  return latest
}

/** Counts suspended invitations, too. */
export async function countPending(tx: Tx, workspaceId: WorkspaceId, at: Instant): Promise<number> {
  const { pending } = await tx
    .selectFrom('invitations')
    .where('workspace_biz_id', '=', workspaceId)
    .where('invitation_status', 'in', open)
    .where('expires_at', '>', timestamptz(at))
    .select((eb) => eb.fn.countAll<number>().as('pending'))
    .executeTakeFirstOrThrow()
  return pending
}

/** Belongs to the CONSUMER portal. */
export interface Person {
  accountId: AccountId
  name: string
  isActive: boolean
  /** In canonical form. Null if not verified. */
  verifiedEmail: string | null
  language: string
}

export async function personById(store: Database | Tx, id: AccountId): Promise<Person | undefined> {
  return personOf(await people(store).where('biz_id', '=', id).executeTakeFirst())
}

/** Locks the account, so that its recovery suspends what it grants. */
export async function lockPerson(tx: Tx, id: AccountId): Promise<Person | undefined> {
  return personOf(await people(tx).where('biz_id', '=', id).forShare().executeTakeFirst())
}

/** The address must be in canonical form. */
export async function personByEmail(store: Database | Tx, email: string): Promise<Person | undefined> {
  return personOf(await people(store).where('email_canonical', '=', email).executeTakeFirst())
}

export function roleIn(tx: Tx, workspaceId: WorkspaceId, id: RoleId): Promise<OfferedRole | undefined> {
  return tx
    .selectFrom('roles')
    .select(['biz_id as id', 'role_name as name', 'role_type as type', 'permission_codes as permissionCodes'])
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .executeTakeFirst()
}

function invitations(store: Database | Tx, at: Instant) {
  return store
    .selectFrom('invitations as i')
    .innerJoin('workspaces as w', 'w.biz_id', 'i.workspace_biz_id')
    .select([
      'i.biz_id as id',
      'i.workspace_biz_id as workspaceId',
      'w.workspace_name as workspaceName',
      'i.invitee_email as email',
      'i.role_biz_id as roleId',
      'i.role_name as roleName',
      'i.inviter_biz_id as inviterId',
      'i.enabled_by as confirmedBy',
      'i.decline_reason as declineReason',
      'i.message',
      'i.expires_at as expiresAt',
      'i.responded_at as respondedAt',
      'i.created_at as createdAt',
      'i.updated_at as updatedAt',
      statusAt(at).as('status'),
    ])
}

/** Returns the status at an instant. A pending or suspended invitation past `expires_at` counts as EXPIRED. */
function statusAt(at: Instant) {
  return sql<InvitationStatus>`
    CASE WHEN i.invitation_status IN ('PENDING', 'SUSPENDED') AND i.expires_at <= ${timestamptz(at)} THEN 'EXPIRED'
         ELSE i.invitation_status END`
}

/** The same as `statusAt`, in a form for which PostgreSQL can use an index. */
function hasStatus(status: InvitationStatus, at: Instant) {
  const stored = sql<SqlBool>`i.invitation_status = ${status}`
  if (status === 'PENDING' || status === 'SUSPENDED')
    return sql<SqlBool>`${stored} AND i.expires_at > ${timestamptz(at)}`
  if (status !== 'EXPIRED') return stored
  return sql<SqlBool>`i.invitation_status IN ('EXPIRED', 'PENDING', 'SUSPENDED')
    AND (${stored} OR i.expires_at <= ${timestamptz(at)})`
}

type Found = Awaited<ReturnType<ReturnType<typeof people>['executeTakeFirstOrThrow']>>

function personOf(row: Found | undefined): Person | undefined {
  return (
    row && {
      accountId: row.biz_id,
      name: row.account_name,
      isActive: row.account_status === 'ACTIVE',
      verifiedEmail: row.email_verified_at === null ? null : row.email_canonical,
      language: row.default_language,
    }
  )
}

function people(store: Database | Tx) {
  return store
    .selectFrom('accounts')
    .select(['biz_id', 'account_name', 'account_status', 'email_canonical', 'email_verified_at', 'default_language'])
    .where('portal', '=', 'CONSUMER')
}
