import type { DomainPorts } from '../../api/domain.ts'
import type { GivenPower, OwnerNotices } from '../../api/notices.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  type Caller,
  conflict,
  type Ids,
  type Instant,
  invalid,
  type Locale,
  type Portal,
  parseLocale,
  type RecoveredAccount,
  Refusal,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceStatus,
} from '../../kernel/index.ts'
import { type AuditContext, recordRefusal, recordSuccess } from '../../platform/audit/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import type { InvitationStatus } from './contract.ts'
import { assertWithinLimits, type InvitationSettings, lifeDays, limitPeriod, type OfferedRole } from './rules.ts'
import {
  countPending,
  expireOverdue,
  findExhaustedLimit,
  type InvitationId,
  type InvitationRow,
  insertInvitation,
  invitationById,
  listInvitations,
  lockPerson,
  personByEmail,
  personById,
  restoreInvitation,
  roleIn,
  settleInvitation,
  suspendInvitationsOf,
} from './store.ts'

/** Memberships implements and documents these methods. */
export interface MembersPort {
  lock(tx: Tx, workspaceId: WorkspaceId): Promise<{ status: WorkspaceStatus } | undefined>
  assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<unknown>
  assertMayGrant(
    tx: Tx,
    grantor: { caller: Caller; access: WorkspaceAccess; at: Instant },
    role: OfferedRole,
  ): Promise<void>
  assertMayRestore(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  mayGrant(access: WorkspaceAccess, role: OfferedRole): boolean
  powerOf(role: OfferedRole): GivenPower | undefined
  accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined>
  add(
    tx: Tx,
    member: {
      workspaceId: WorkspaceId
      accountId: AccountId
      roleId: RoleId
      joinSource: 'INVITATION'
      grantedBy: AccountId
    },
    at: Instant,
  ): Promise<boolean>
}

export interface InvitationPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  members: MembersPort
  /** Locks the caller's account. Throws ACCESS.TOKEN_INVALID if the caller's session has ended. */
  assertSessionOpen(tx: Tx, caller: Caller): Promise<void>
  notices: OwnerNotices
  mailer: Pick<Mailer, 'send'>
  /** Sign-in page that the email links to. Never taken from a request. */
  signInUrl(portal: Portal): string
  /** Whether an address cannot be invited. */
  isRefusedEmail(email: string, portal: Portal): boolean
  settings: InvitationSettings
}

export interface InvitationContext {
  caller: Caller
  auditContext: AuditContext
  access: WorkspaceAccess
}

export function listWorkspaceInvitations(
  { database }: InvitationPorts,
  { workspaceId, status }: { workspaceId: WorkspaceId; status: InvitationStatus | undefined },
  at: Instant,
): Promise<InvitationRow[]> {
  return listInvitations(database, { workspaceId }, status, at)
}

export async function listMyInvitations(
  { database }: InvitationPorts,
  { accountId, status }: { accountId: AccountId; status: InvitationStatus | undefined },
  at: Instant,
): Promise<InvitationRow[]> {
  const invitee = await inviteeOf(database, accountId)
  return invitee === undefined ? [] : listInvitations(database, invitee, status, at)
}

export interface CreateInvitationInput {
  email: string
  roleId: RoleId
  message: string | null
  /** Language of the email to an invitee without an account. */
  locale: Locale
}

/**
 * Cancels the invitation if the email cannot be sent. Throws VALIDATION.INVALID_PARAMETER if the portal refuses the
 * mail domain.
 */
export async function createInvitation(
  ports: InvitationPorts,
  input: CreateInvitationInput,
  context: InvitationContext,
): Promise<InvitationRow> {
  if (ports.isRefusedEmail(input.email, context.caller.portal)) throw invalid('email', 'a refused mail domain')
  const invitation = await storeInvitation(ports, input, context)
  try {
    await mailInvitation(ports, invitation, context.caller.portal, input.locale)
  } catch (error) {
    const key = { workspaceId: context.access.id, id: invitation.bizId }
    await cancelInvitation(ports, { ...key, failure: 'NOT_MAILED' }, context.auditContext)
    throw error
  }
  return invitation
}

export interface CancelInvitationInput {
  workspaceId: WorkspaceId
  id: InvitationId
  /** Why the invitation could not be created. If set, the audit log records the request as refused. */
  failure?: string
}

export function cancelInvitation(
  { transaction }: InvitationPorts,
  { workspaceId, id, failure }: CancelInvitationInput,
  auditContext: AuditContext,
): Promise<InvitationRow> {
  return transaction(async (tx) => {
    const invitation = found(await invitationById(tx, id, { workspaceId }, auditContext.at))
    if (!(await settleInvitation(tx, invitation, 'CANCELLED', null, auditContext.at)))
      throw conflict(`the invitation is ${invitation.invitationStatus}`)
    const target = { workspaceId, targetId: id }
    if (failure === undefined) await recordSuccess(tx, auditContext, target)
    else await recordRefusal(tx, auditContext, { ...target, detail: { reason: failure } })
    return found(await invitationById(tx, id, { workspaceId }, auditContext.at))
  })
}

export function suspendInvitations(tx: Tx, { accountId, at }: RecoveredAccount): Promise<number> {
  return suspendInvitationsOf(tx, accountId, at)
}

/** The caller must be able to grant the role. */
export function confirmInvitation(
  ports: InvitationPorts,
  { id }: { id: InvitationId },
  { caller, auditContext, access }: InvitationContext,
): Promise<InvitationRow> {
  const { transaction, members, assertSessionOpen } = ports
  return transaction(async (tx) => {
    const workspaceId = access.id
    await members.assertAccess(tx, auditContext.accountId, access)
    await assertSessionOpen(tx, caller)
    await members.assertMayRestore(tx, auditContext.accountId, workspaceId)
    const invitation = found(await invitationById(tx, id, { workspaceId }, auditContext.at))
    const role = await roleIn(tx, workspaceId, invitation.roleBizId)
    if (!role) throw conflict('the role has been deleted')
    await members.assertMayGrant(tx, { caller, access, at: auditContext.at }, role)
    await assertStillGrantable(ports, tx, { ...invitation, enabledBy: auditContext.accountId }, role)
    const confirmed = { confirmedBy: auditContext.accountId, at: auditContext.at }
    if (!(await restoreInvitation(tx, invitation, confirmed)))
      throw conflict(`the invitation is ${invitation.invitationStatus}`)
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id })
    return found(await invitationById(tx, id, { workspaceId }, auditContext.at))
  })
}

/** Inviter and confirmer must still be able to grant the role, because their permissions can have changed. */
export function acceptInvitation(
  ports: InvitationPorts,
  id: InvitationId,
  auditContext: AuditContext,
): Promise<InvitationRow> {
  return respondToInvitation(ports, id, auditContext, async (tx, invitation) => {
    const {
      workspaceBizId: workspaceId,
      roleBizId: roleId,
      inviterBizId: inviterId,
      enabledBy: confirmedBy,
    } = invitation
    const { accountId: memberId, at } = auditContext
    const workspace = await ports.members.lock(tx, workspaceId)
    if (workspace?.status !== 'ACTIVE') throw new Refusal('WORKSPACE.NOT_ACTIVE')
    const role = await roleIn(tx, workspaceId, roleId)
    if (!role) throw conflict('the role has been deleted')
    // Locks the accounts before the invitation, like the recovery of such an account.
    await assertStillGrantable(ports, tx, invitation, role)
    if (!(await settleInvitation(tx, invitation, 'ACCEPTED', null, at)))
      throw conflict(`the invitation is ${invitation.invitationStatus}`)
    const joining = {
      workspaceId,
      accountId: memberId,
      roleId,
      joinSource: 'INVITATION',
      grantedBy: confirmedBy ?? inviterId,
    } as const
    if (!(await ports.members.add(tx, joining, at))) throw conflict('the account is already a member')
    const gives = ports.members.powerOf(role)
    if (gives === 'PAYOUT') {
      const kind = role.roleType === 'OWNER' ? 'OWNER_ADDED' : 'MEMBER_ADDED'
      await ports.notices.queue(tx, { kind, workspaceId, actorId: inviterId, memberId, gives, at })
    }
  })
}

export function declineInvitation(
  ports: InvitationPorts,
  { id, reason }: { id: InvitationId; reason: string },
  auditContext: AuditContext,
): Promise<InvitationRow> {
  return respondToInvitation(ports, id, auditContext, async (tx, invitation) => {
    if (!(await settleInvitation(tx, invitation, 'DECLINED', reason, auditContext.at)))
      throw conflict(`the invitation is ${invitation.invitationStatus}`)
  })
}

/** Returns only a verified address. */
async function inviteeOf(store: Database | Tx, id: AccountId): Promise<{ email: string; portal: Portal } | undefined> {
  const person = await personById(store, id)
  return person && person.verifiedEmail !== null ? { email: person.verifiedEmail, portal: person.portal } : undefined
}

function storeInvitation(
  { transaction, ids, members, settings, assertSessionOpen }: InvitationPorts,
  { email, roleId, message }: CreateInvitationInput,
  { caller, auditContext, access }: InvitationContext,
): Promise<InvitationRow> {
  return transaction(async (tx) => {
    const workspaceId = access.id
    await members.assertAccess(tx, auditContext.accountId, access)
    // Locks the inviter, too, so that parallel requests cannot exceed the limits.
    await assertSessionOpen(tx, caller)
    const role = assertFound(await roleIn(tx, workspaceId, roleId), 'no such role in this workspace')
    await members.assertMayGrant(tx, { caller, access, at: auditContext.at }, role)
    const recipient = { workspaceBizId: workspaceId, inviterBizId: auditContext.accountId, inviteeEmail: email }
    const exhausted = await findExhaustedLimit(tx, recipient, addMs(auditContext.at, -limitPeriod), settings)
    const pending = await countPending(tx, workspaceId, auditContext.at)
    assertWithinLimits({ exhausted, pending }, settings, auditContext.at)
    // Look up unknown addresses, too. Otherwise the response time would reveal which addresses have an account.
    const invitee = (await personByEmail(tx, workspaceId, email))?.accountId ?? ids.next<'account'>()
    if (await members.find(tx, invitee, workspaceId)) throw conflict('the account is already a member')
    await expireOverdue(tx, workspaceId, email, auditContext.at)
    const id = ids.next<'invitation'>()
    const offer = {
      roleBizId: roleId,
      roleName: role.roleName,
      message,
      expiresAt: addMs(auditContext.at, settings.lifeMs),
    }
    if (!(await insertInvitation(tx, { ...recipient, ...offer, bizId: id }, auditContext.at)))
      throw conflict('an invitation to this address is pending')
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail: { role: roleId } })
    return found(await invitationById(tx, id, { workspaceId }, auditContext.at))
  })
}

function found(row: InvitationRow | undefined): InvitationRow {
  return assertFound(row, 'no such invitation for this workspace or address')
}

/** Emails an invitation in the invitee's language, or in `fallback` if the invitee has no account. */
async function mailInvitation(
  { database, mailer, signInUrl, settings }: InvitationPorts,
  invitation: InvitationRow,
  portal: Portal,
  fallback: Locale,
): Promise<void> {
  const inviter = await personById(database, invitation.inviterBizId)
  const invitee = await personByEmail(database, invitation.workspaceBizId, invitation.inviteeEmail)
  await mailer.send({
    to: invitation.inviteeEmail,
    template: 'invitations.workspace-invitation',
    locale: invitee ? parseLocale(invitee.language) : fallback,
    values: {
      inviter: inviter?.name ?? '',
      workspace: invitation.workspaceName,
      role: invitation.roleName,
      message: invitation.message ?? '',
      days: String(lifeDays(settings)),
      url: signInUrl(portal),
    },
  })
}

function respondToInvitation(
  { transaction }: InvitationPorts,
  id: InvitationId,
  auditContext: AuditContext,
  respond: (tx: Tx, invitation: InvitationRow) => Promise<void>,
): Promise<InvitationRow> {
  return transaction(async (tx) => {
    const invitee = assertFound(await inviteeOf(tx, auditContext.accountId), 'the caller has no verified address')
    const invitation = found(await invitationById(tx, id, invitee, auditContext.at))
    await respond(tx, invitation)
    await recordSuccess(tx, auditContext, { workspaceId: invitation.workspaceBizId, targetId: id })
    return found(await invitationById(tx, id, invitee, auditContext.at))
  })
}

/** Throws STATE.CONFLICT unless the inviter and the member who confirmed the invitation can still grant the role. */
async function assertStillGrantable(
  { members }: InvitationPorts,
  tx: Tx,
  { inviterBizId: inviterId, enabledBy: confirmedBy, workspaceBizId: workspaceId }: InvitationRow,
  role: OfferedRole,
): Promise<void> {
  for (const id of new Set([inviterId, confirmedBy ?? inviterId].toSorted())) {
    const access = (await lockPerson(tx, id))?.isActive ? await members.accessOf(tx, id, workspaceId) : undefined
    if (!access?.permissions.has('invitation:manage') || !members.mayGrant(access, role))
      throw conflict('the inviter can no longer grant the role')
  }
}
