import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  type Ids,
  type Instant,
  type Locale,
  notFound,
  parseLocale,
  Refusal,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceStatus,
} from '../../kernel/index.ts'
import { type AuditContext, recordRefusal, recordSuccess } from '../../platform/audit/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import type { InvitationStatus } from './contract.ts'
import {
  assertMayOffer,
  assertWithinLimits,
  type InvitationSettings,
  lifeDays,
  limitPeriod,
  mayStillOffer,
} from './rules.ts'
import {
  countPending,
  expireOverdue,
  findExhaustedLimit,
  type InvitationId,
  type InvitationRow,
  insertInvitation,
  invitationById,
  listInvitations,
  personByEmail,
  personById,
  roleIn,
  settleInvitation,
} from './store.ts'

/** Port to the memberships of workspaces. */
export interface MembersPort {
  /** Locks the workspace. Returns undefined if it does not exist. */
  lock(tx: Tx, workspaceId: WorkspaceId): Promise<{ status: WorkspaceStatus } | undefined>
  /** Locks the workspace and refuses if the caller has lost a permission since `access` was read. */
  assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<unknown>
  /** Returns a member's current access. Returns undefined if the account is not a member or cannot enter. */
  accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined>
  /** Returns false if the account is already a member. */
  add(
    tx: Tx,
    member: { workspaceId: WorkspaceId; accountId: AccountId; roleId: RoleId; joinSource: 'INVITATION' },
    at: Instant,
  ): Promise<boolean>
}

export interface InvitationPorts {
  database: Database
  ids: Ids
  members: MembersPort
  mailer: Pick<Mailer, 'send'>
  /** The sign-in page for the e-mail. It comes from the configuration and never from a request. */
  portalUrl: string
  settings: InvitationSettings
}

/** The caller, and their access to the workspace. */
export interface InvitationContext {
  auditContext: AuditContext
  access: WorkspaceAccess
}

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

const assertFound = (row: InvitationRow | undefined): InvitationRow => {
  if (!row) throw notFound('no such invitation for this workspace or address')
  return row
}

/** Returns the account's verified address, to which its invitations are sent. */
const ownEmail = async (store: Database | Tx, id: AccountId): Promise<string | undefined> =>
  (await personById(store, id))?.verifiedEmail ?? undefined

/** Invitations of a workspace. */
export const listWorkspaceInvitations = (
  { database }: InvitationPorts,
  { workspaceId, status }: { workspaceId: WorkspaceId; status: InvitationStatus | undefined },
  at: Instant,
): Promise<InvitationRow[]> => listInvitations(database, { workspaceId }, status, at)

/** Invitations to the account's verified address. */
export const listMyInvitations = async (
  { database }: InvitationPorts,
  { accountId, status }: { accountId: AccountId; status: InvitationStatus | undefined },
  at: Instant,
): Promise<InvitationRow[]> => {
  const email = await ownEmail(database, accountId)
  return email === undefined ? [] : listInvitations(database, { email }, status, at)
}

export interface CreateInvitationInput {
  email: string
  roleId: RoleId
  message: string | null
  /** Language of the e-mail if the invitee has no account. */
  locale: Locale
}

const storeInvitation = (
  { database, ids, members, settings }: InvitationPorts,
  { email, roleId, message }: CreateInvitationInput,
  { auditContext, access }: InvitationContext,
): Promise<InvitationRow> =>
  inTransaction(database, async (tx) => {
    const workspaceId = access.id
    await members.assertAccess(tx, auditContext.accountId, access)
    const role = await roleIn(tx, workspaceId, roleId)
    if (!role) throw notFound('no such role in this workspace')
    assertMayOffer(access, role)
    const recipient = { workspaceId, inviterId: auditContext.accountId, email }
    const exhausted = await findExhaustedLimit(tx, recipient, addMs(auditContext.at, -limitPeriod), settings)
    const pending = await countPending(tx, workspaceId, auditContext.at)
    assertWithinLimits({ exhausted, pending }, settings, auditContext.at)
    // Also look up a membership for an unknown address. Otherwise the response time would reveal which addresses have
    // an account.
    const invitee = (await personByEmail(tx, email))?.accountId ?? ids.next<'account'>()
    if (await members.find(tx, invitee, workspaceId)) throw conflict('the account is already a member')
    await expireOverdue(tx, workspaceId, email, auditContext.at)
    const id = ids.next<'invitation'>()
    const offer = { roleId, roleName: role.name, message, expiresAt: addMs(auditContext.at, settings.lifeMs) }
    if (!(await insertInvitation(tx, { ...recipient, ...offer, id }, auditContext.at)))
      throw conflict('an invitation to this address is pending')
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail: { role: roleId } })
    return assertFound(await invitationById(tx, id, { workspaceId }, auditContext.at))
  })

/** Mails an invitation in the invitee's language, or in `fallback` if the invitee has no account. */
const mailInvitation = async (
  { database, mailer, portalUrl, settings }: InvitationPorts,
  invitation: InvitationRow,
  fallback: Locale,
): Promise<void> => {
  const inviter = await personById(database, invitation.inviterId)
  const invitee = await personByEmail(database, invitation.email)
  await mailer.send({
    to: invitation.email,
    template: 'workspace-invitation',
    locale: invitee ? parseLocale(invitee.language) : fallback,
    values: {
      inviter: inviter?.name ?? '',
      workspace: invitation.workspaceName,
      role: invitation.roleName,
      message: invitation.message ?? '',
      days: String(lifeDays(settings)),
      url: portalUrl,
    },
  })
}

/** Creates and mails an invitation. Cancels it if sending the e-mail fails. */
export const createInvitation = async (
  ports: InvitationPorts,
  input: CreateInvitationInput,
  context: InvitationContext,
): Promise<InvitationRow> => {
  const invitation = await storeInvitation(ports, input, context)
  try {
    await mailInvitation(ports, invitation, input.locale)
  } catch (error) {
    const key = { workspaceId: context.access.id, id: invitation.id }
    await cancelInvitation(ports, { ...key, failure: 'NOT_MAILED' }, context.auditContext)
    throw error
  }
  return invitation
}

export interface CancelInvitationInput {
  workspaceId: WorkspaceId
  id: InvitationId
  /** The reason why the invitation could not be created. The audit log then records a refusal. */
  failure?: string
}

/** Cancels a pending invitation of the workspace. */
export const cancelInvitation = (
  { database }: InvitationPorts,
  { workspaceId, id, failure }: CancelInvitationInput,
  auditContext: AuditContext,
): Promise<InvitationRow> =>
  inTransaction(database, async (tx) => {
    const invitation = assertFound(await invitationById(tx, id, { workspaceId }, auditContext.at))
    if (!(await settleInvitation(tx, invitation, 'CANCELLED', null, auditContext.at)))
      throw conflict(`the invitation is ${invitation.status}`)
    const target = { workspaceId, targetId: id }
    if (failure === undefined) await recordSuccess(tx, auditContext, target)
    else await recordRefusal(tx, auditContext, { ...target, detail: { reason: failure } })
    return assertFound(await invitationById(tx, id, { workspaceId }, auditContext.at))
  })

/** Accepts or declines an invitation on behalf of its invitee. */
const respondToInvitation = (
  { database }: InvitationPorts,
  id: InvitationId,
  auditContext: AuditContext,
  respond: (tx: Tx, invitation: InvitationRow) => Promise<void>,
): Promise<InvitationRow> =>
  inTransaction(database, async (tx) => {
    const email = (await ownEmail(tx, auditContext.accountId)) ?? ''
    const invitation = assertFound(await invitationById(tx, id, { email }, auditContext.at))
    await respond(tx, invitation)
    await recordSuccess(tx, auditContext, { workspaceId: invitation.workspaceId, targetId: id })
    return assertFound(await invitationById(tx, id, { email }, auditContext.at))
  })

/** Returns the inviter's current access. Returns undefined if their account is not active or can no longer enter. */
const inviterAccess = async (
  { members }: InvitationPorts,
  tx: Tx,
  { inviterId, workspaceId }: InvitationRow,
): Promise<WorkspaceAccess | undefined> =>
  (await personById(tx, inviterId))?.isActive ? members.accessOf(tx, inviterId, workspaceId) : undefined

/**
 * Accepts an invitation. The inviter must still be able to grant the role, because their permissions can have changed
 * since.
 */
export const acceptInvitation = (
  ports: InvitationPorts,
  id: InvitationId,
  auditContext: AuditContext,
): Promise<InvitationRow> =>
  respondToInvitation(ports, id, auditContext, async (tx, invitation) => {
    const { workspaceId, roleId } = invitation
    const workspace = await ports.members.lock(tx, workspaceId)
    if (workspace?.status !== 'ACTIVE') throw new Refusal('WORKSPACE.NOT_ACTIVE')
    if (!(await settleInvitation(tx, invitation, 'ACCEPTED', null, auditContext.at)))
      throw conflict(`the invitation is ${invitation.status}`)
    const role = await roleIn(tx, workspaceId, roleId)
    if (!role) throw conflict('the role has been deleted')
    if (!mayStillOffer(await inviterAccess(ports, tx, invitation), role))
      throw conflict('the inviter can no longer grant the role')
    const member = { workspaceId, accountId: auditContext.accountId, roleId, joinSource: 'INVITATION' } as const
    if (!(await ports.members.add(tx, member, auditContext.at))) throw conflict('the account is already a member')
  })

/** Declines a pending invitation. */
export const declineInvitation = (
  ports: InvitationPorts,
  { id, reason }: { id: InvitationId; reason: string },
  auditContext: AuditContext,
): Promise<InvitationRow> =>
  respondToInvitation(ports, id, auditContext, async (tx, invitation) => {
    if (!(await settleInvitation(tx, invitation, 'DECLINED', reason, auditContext.at)))
      throw conflict(`the invitation is ${invitation.status}`)
  })
