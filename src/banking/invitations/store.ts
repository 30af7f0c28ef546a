import { type SqlBool, sql } from 'kysely'
import { type Database, isSuspect, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type BizId,
  type Instant,
  type Portal,
  type RoleId,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { recordAs } from '../../platform/events/index.ts'
import type { InvitationStatus } from './contract.ts'
import type { ExhaustedLimit, InvitationSettings, OfferedRole } from './rules.ts'

export type InvitationId = BizId<'invitation'>

const columns = [
  'i.bizId',
  'i.workspaceBizId',
  'w.workspaceName',
  'i.inviteeEmail',
  'i.roleBizId',
  'i.roleName',
  'i.inviterBizId',
  'i.declineReason',
  'i.message',
  'i.expiresAt',
  'i.respondedAt',
  'i.createdAt',
  'i.updatedAt',
] as const

const open = ['PENDING', 'SUSPENDED'] as const
/** The query plan uses the partial index. */
const openLiterals = [sql.lit<InvitationStatus>('PENDING'), sql.lit<InvitationStatus>('SUSPENDED')]

export type InvitationRow = Awaited<ReturnType<typeof listInvitations>>[number]

/** The workspace, or the invitee: a person with the same address at another portal is somebody else. */
export type Side = { workspaceId: WorkspaceId } | { email: string; portal: Portal }

export function listInvitations(database: Database, side: Side, status: InvitationStatus | undefined, at: Instant) {
  let found = invitationsOf(database, side, at)
  if (status !== undefined) found = found.where(hasStatus(status, at))
  return found.orderBy('i.createdAt', 'desc').orderBy('i.bizId', 'desc').limit(500).execute()
}

export function invitationById(
  store: Database | Tx,
  id: InvitationId,
  side: Side,
  at: Instant,
): Promise<InvitationRow | undefined> {
  return invitationsOf(store, side, at).where('i.bizId', '=', id).executeTakeFirst()
}

export type NewInvitation = Pick<
  InvitationRow,
  ('bizId' | 'workspaceBizId' | 'inviteeEmail' | 'roleBizId' | 'roleName') | ('inviterBizId' | 'message' | 'expiresAt')
>

/** Returns the invitation as a change recorded it, with the present name of the workspace. */
export async function invitationOfRecord(tx: Tx, record: unknown): Promise<Omit<InvitationRow, 'enabledBy'>> {
  return tx
    .selectFrom(recordAs('invitations', record, 'i'))
    .innerJoin('workspaces as w', 'w.bizId', 'i.workspaceBizId')
    .select([...columns, 'i.invitationStatus'])
    .executeTakeFirstOrThrow()
}

/** Stores the expiry of up to `limit` overdue invitations. Returns their number. */
export async function expireInvitations(
  { database }: { database: Database },
  at: Instant,
  limit: number,
): Promise<number> {
  const overdue = database
    .selectFrom('invitations')
    .select(['workspaceBizId', 'bizId'])
    .where('invitationStatus', 'in', openLiterals)
    .where('expiresAt', '<=', timestamptz(at))
    .orderBy('expiresAt')
    .limit(limit)
    .forUpdate()
    .skipLocked()
  const expired = await database
    .with('overdue', () => overdue)
    .updateTable('invitations as i')
    .from('overdue')
    .set({ invitationStatus: 'EXPIRED' })
    .whereRef('i.workspaceBizId', '=', 'overdue.workspaceBizId')
    .whereRef('i.bizId', '=', 'overdue.bizId')
    .returning('i.bizId')
    .execute()
  return expired.length
}

/** Allows a new invitation despite the unique index. */
export async function expireOverdue(tx: Tx, workspaceId: WorkspaceId, email: string, at: Instant): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ invitationStatus: 'EXPIRED' })
    .where('workspaceBizId', '=', workspaceId)
    .where('inviteeEmail', '=', email)
    .where('invitationStatus', 'in', open)
    .where('expiresAt', '<=', timestamptz(at))
    .execute()
}

/** Returns false if the address already has a pending one. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation, at: Instant): Promise<boolean> {
  const inserted = await tx
    .insertInto('invitations')
    .values({
      workspaceBizId: invitation.workspaceBizId,
      bizId: invitation.bizId,
      inviteeEmail: invitation.inviteeEmail,
      roleBizId: invitation.roleBizId,
      roleName: invitation.roleName,
      inviterBizId: invitation.inviterBizId,
      invitationStatus: 'PENDING',
      declineReason: null,
      message: invitation.message,
      expiresAt: toDate(invitation.expiresAt),
      createdAt: toDate(at),
      updatedAt: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('bizId')
    .executeTakeFirst()
  return inserted !== undefined
}

/**
 * Covers all workspaces. Suspends what the account created, and what a suspect of the recovery created or confirmed.
 */
export async function suspendInvitationsOf(tx: Tx, inviterId: AccountId, at: Instant): Promise<number> {
  const recovery = { accountId: inviterId, at }
  const suspected = [isSuspect(recovery, 'inviterBizId', 'createdAt'), isSuspect(recovery, 'enabledBy', 'enabledAt')]
  const suspended = await tx
    .updateTable('invitations')
    .set({ invitationStatus: 'SUSPENDED', updatedAt: toDate(at) })
    .where(({ or, eb }) => or([eb('inviterBizId', '=', inviterId), ...suspected]))
    .where('invitationStatus', '=', sql.lit('PENDING'))
    .where('expiresAt', '>', timestamptz(at))
    .returning('bizId')
    .execute()
  return suspended.length
}

/** Returns false if it is not suspended or has expired. */
export async function restoreInvitation(
  tx: Tx,
  { workspaceBizId, bizId }: Pick<InvitationRow, 'workspaceBizId' | 'bizId'>,
  { confirmedBy, at }: { confirmedBy: AccountId; at: Instant },
): Promise<boolean> {
  const restored = await tx
    .updateTable('invitations')
    .set({ invitationStatus: 'PENDING', enabledBy: confirmedBy, enabledAt: toDate(at), updatedAt: toDate(at) })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .where('invitationStatus', '=', 'SUSPENDED')
    .where('expiresAt', '>', timestamptz(at))
    .returning('bizId')
    .executeTakeFirst()
  return restored !== undefined
}

/** A suspended invitation can only be cancelled. Returns false if it has another status. */
export async function settleInvitation(
  tx: Tx,
  { workspaceBizId, bizId }: Pick<InvitationRow, 'workspaceBizId' | 'bizId'>,
  status: 'ACCEPTED' | 'DECLINED' | 'CANCELLED',
  declineReason: string | null,
  at: Instant,
): Promise<boolean> {
  const settled = await tx
    .updateTable('invitations')
    .set({
      invitationStatus: status,
      declineReason: declineReason,
      updatedAt: toDate(at),
      respondedAt: status === 'CANCELLED' ? null : toDate(at),
    })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .where('invitationStatus', 'in', status === 'CANCELLED' ? open : ['PENDING'])
    .where('expiresAt', '>', timestamptz(at))
    .returning('bizId')
    .executeTakeFirst()
  return settled !== undefined
}

type Recipient = Pick<InvitationRow, 'workspaceBizId' | 'inviterBizId' | 'inviteeEmail'>

/**
 * Returns the limit that prevents another invitation, or null. Limits count per workspace and per inviter, to all
 * addresses and to this one. An inviter's count covers all workspaces, so neither opening nor leaving workspaces raises
 * the limit. If several limits apply, returns the one that lasts longest.
 */
export async function findExhaustedLimit(
  tx: Tx,
  { workspaceBizId, inviterBizId, inviteeEmail }: Recipient,
  since: Instant,
  { maxPerDay, maxPerDayToAddress }: Pick<InvitationSettings, 'maxPerDay' | 'maxPerDayToAddress'>,
): Promise<ExhaustedLimit | null> {
  const newest = tx
    .selectFrom('invitations')
    .select('createdAt')
    .where('createdAt', '>', timestamptz(since))
    .orderBy('createdAt', 'desc')
    .limit(1)
  const ofWorkspace = newest.where('workspaceBizId', '=', workspaceBizId)
  const ofInviter = newest.where('inviterBizId', '=', inviterBizId)
  const oldest = await tx
    .selectNoFrom([
      ofWorkspace.offset(maxPerDay - 1).as('ofWorkspace'),
      ofInviter.offset(maxPerDay - 1).as('ofInviter'),
      ofWorkspace
        .where('inviteeEmail', '=', inviteeEmail)
        .offset(maxPerDayToAddress - 1)
        .as('ofWorkspaceToAddress'),
      ofInviter
        .where('inviteeEmail', '=', inviteeEmail)
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
    .where('workspaceBizId', '=', workspaceId)
    .where('invitationStatus', 'in', open)
    .where('expiresAt', '>', timestamptz(at))
    .select((eb) => eb.fn.countAll<number>().as('pending'))
    .executeTakeFirstOrThrow()
  return pending
}

/** Belongs to a portal with workspaces. */
export interface Person {
  accountId: AccountId
  portal: Portal
  name: string
  isActive: boolean
  /** In canonical form. Null if not verified. */
  verifiedEmail: string | null
  language: string
}

export async function personById(store: Database | Tx, id: AccountId): Promise<Person | undefined> {
  return personOf(await people(store).where('bizId', '=', id).executeTakeFirst())
}

/** Locks the account, so that its recovery suspends what it grants. */
export async function lockPerson(tx: Tx, id: AccountId): Promise<Person | undefined> {
  return personOf(await people(tx).where('bizId', '=', id).forShare().executeTakeFirst())
}

/** The person with this address at the portal of the workspace. The address must be in canonical form. */
export async function personByEmail(
  store: Database | Tx,
  workspaceId: WorkspaceId,
  email: string,
): Promise<Person | undefined> {
  const found = people(store).where('emailCanonical', '=', email)
  return personOf(await found.where('portal', '=', portalOf(workspaceId)).executeTakeFirst())
}

export function roleIn(tx: Tx, workspaceId: WorkspaceId, id: RoleId): Promise<OfferedRole | undefined> {
  return tx
    .selectFrom('roles')
    .select(['bizId', 'roleName', 'roleType', 'permissionCodes'])
    .where('workspaceBizId', '=', workspaceId)
    .where('bizId', '=', id)
    .executeTakeFirst()
}

function invitationsOf(store: Database | Tx, side: Side, at: Instant) {
  const found = store
    .selectFrom('invitations as i')
    .innerJoin('workspaces as w', 'w.bizId', 'i.workspaceBizId')
    .select([...columns, 'i.enabledBy', statusAt(at).as('invitationStatus')])
  return 'email' in side
    ? found.where('i.inviteeEmail', '=', side.email).where('w.portal', '=', side.portal)
    : found.where('i.workspaceBizId', '=', side.workspaceId)
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
      accountId: row.bizId,
      portal: row.portal,
      name: row.accountName,
      isActive: row.accountStatus === 'ACTIVE',
      verifiedEmail: row.emailVerifiedAt === null ? null : row.emailCanonical,
      language: row.defaultLanguage,
    }
  )
}

function people(store: Database | Tx) {
  return store
    .selectFrom('accounts')
    .select(['bizId', 'portal', 'accountName', 'accountStatus', 'emailCanonical', 'emailVerifiedAt', 'defaultLanguage'])
    .where('portal', '!=', 'SYSTEM')
}

function portalOf(workspaceId: WorkspaceId) {
  return sql<Portal>`(SELECT portal FROM workspaces WHERE biz_id = ${workspaceId})`
}
