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

/** The members of workspaces. */
export interface MembersPort {
  /** Locks the workspace; undefined if it does not exist. */
  lock(tx: Tx, workspaceId: WorkspaceId): Promise<{ status: WorkspaceStatus } | undefined>
  /** Locks the workspace and refuses if the caller has lost a permission since `access` was read. */
  assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<unknown>
  /** A member's current access; undefined for others and for members who may not enter. */
  accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined>
  /** False if the account is a member already. */
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
  /** Where people sign in to answer. It is configured, never taken from a request. */
  portalUrl: string
  settings: InvitationSettings
}

/** Who acts, and with which access to the workspace. */
export interface InvitationContext {
  act: AuditContext
  access: WorkspaceAccess
}

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

const assertFound = (row: InvitationRow | undefined): InvitationRow => {
  if (!row) throw notFound('no such invitation for this workspace or address')
  return row
}

/** The account's verified address: invitations to it belong to the account. */
const ownEmail = async (store: Database | Tx, id: AccountId): Promise<string | undefined> =>
  (await personById(store, id))?.verifiedEmail ?? undefined

export const listWorkspaceInvitations = (
  { database }: InvitationPorts,
  { workspaceId, status }: { workspaceId: WorkspaceId; status: InvitationStatus | undefined },
  at: Instant,
): Promise<InvitationRow[]> => listInvitations(database, { workspaceId }, status, at)

/** Invitations to the account's own address. */
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
  /** Language of the mail if the invitee has no account. */
  locale: Locale
}

const storeInvitation = (
  { database, ids, members, settings }: InvitationPorts,
  { email, roleId, message }: CreateInvitationInput,
  { act, access }: InvitationContext,
): Promise<InvitationRow> =>
  inTransaction(database, async (tx) => {
    const workspaceId = access.id
    await members.assertAccess(tx, act.accountId, access)
    const role = await roleIn(tx, workspaceId, roleId)
    if (!role) throw notFound('no such role in this workspace')
    assertMayOffer(access, role)
    const recipient = { workspaceId, inviterId: act.accountId, email }
    const exhausted = await findExhaustedLimit(tx, recipient, addMs(act.at, -limitPeriod), settings)
    const pending = await countPending(tx, workspaceId, act.at)
    assertWithinLimits({ exhausted, pending }, settings, act.at)
    // Look up a membership for unknown addresses, too: the response time must not reveal which ones have an account.
    const invitee = (await personByEmail(tx, email))?.accountId ?? ids.next<'account'>()
    if (await members.find(tx, invitee, workspaceId)) throw conflict('already a member')
    await expireOverdue(tx, workspaceId, email, act.at)
    const id = ids.next<'invitation'>()
    const offer = { roleId, roleName: role.name, message, expiresAt: addMs(act.at, settings.lifeMs) }
    if (!(await insertInvitation(tx, { ...recipient, ...offer, id }, act.at)))
      throw conflict('an invitation to this address is pending')
    await recordSuccess(tx, act, { workspaceId, targetId: id, detail: { role: roleId } })
    return assertFound(await invitationById(tx, id, { workspaceId }, act.at))
  })

/** Mails an invitation in the invitee's language, or in `fallback` if that is unknown. */
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

/** Makes an invitation and mails it. Cancels it again if the mail cannot be sent. */
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
    await cancelInvitation(ports, { ...key, failure: 'NOT_MAILED' }, context.act)
    throw error
  }
  return invitation
}

export interface CancelInvitationInput {
  workspaceId: WorkspaceId
  id: InvitationId
  /** Why the act that made the invitation failed. The audit log then records that act as refused. */
  failure?: string
}

export const cancelInvitation = (
  { database }: InvitationPorts,
  { workspaceId, id, failure }: CancelInvitationInput,
  act: AuditContext,
): Promise<InvitationRow> =>
  inTransaction(database, async (tx) => {
    const invitation = assertFound(await invitationById(tx, id, { workspaceId }, act.at))
    if (!(await settleInvitation(tx, invitation, 'CANCELLED', null, act.at)))
      throw conflict(`it is ${invitation.status}`)
    const target = { workspaceId, targetId: id }
    if (failure === undefined) await recordSuccess(tx, act, target)
    else await recordRefusal(tx, act, { ...target, detail: { reason: failure } })
    return assertFound(await invitationById(tx, id, { workspaceId }, act.at))
  })

/** Lets the invitee answer an invitation to their own address. */
const answerInvitation = (
  { database }: InvitationPorts,
  id: InvitationId,
  act: AuditContext,
  answer: (tx: Tx, invitation: InvitationRow) => Promise<void>,
): Promise<InvitationRow> =>
  inTransaction(database, async (tx) => {
    const email = (await ownEmail(tx, act.accountId)) ?? ''
    const invitation = assertFound(await invitationById(tx, id, { email }, act.at))
    await answer(tx, invitation)
    await recordSuccess(tx, act, { workspaceId: invitation.workspaceId, targetId: id })
    return assertFound(await invitationById(tx, id, { email }, act.at))
  })

/** The inviter's current access; undefined if their account is not active or they may no longer enter. */
const inviterAccess = async (
  { members }: InvitationPorts,
  tx: Tx,
  { inviterId, workspaceId }: InvitationRow,
): Promise<WorkspaceAccess | undefined> =>
  (await personById(tx, inviterId))?.isActive ? members.accessOf(tx, inviterId, workspaceId) : undefined

export const acceptInvitation = (ports: InvitationPorts, id: InvitationId, act: AuditContext): Promise<InvitationRow> =>
  answerInvitation(ports, id, act, async (tx, invitation) => {
    const { workspaceId, roleId } = invitation
    const workspace = await ports.members.lock(tx, workspaceId)
    if (workspace?.status !== 'ACTIVE') throw new Refusal('WORKSPACE.NOT_ACTIVE')
    if (!(await settleInvitation(tx, invitation, 'ACCEPTED', null, act.at)))
      throw conflict(`it is ${invitation.status}`)
    const role = await roleIn(tx, workspaceId, roleId)
    if (!role) throw conflict('the role has been deleted')
    if (!mayStillOffer(await inviterAccess(ports, tx, invitation), role))
      throw conflict('the inviter could no longer make the invitation')
    const member = { workspaceId, accountId: act.accountId, roleId, joinSource: 'INVITATION' } as const
    if (!(await ports.members.add(tx, member, act.at))) throw conflict('already a member')
  })

export const declineInvitation = (
  ports: InvitationPorts,
  { id, reason }: { id: InvitationId; reason: string },
  act: AuditContext,
): Promise<InvitationRow> =>
  answerInvitation(ports, id, act, async (tx, invitation) => {
    if (!(await settleInvitation(tx, invitation, 'DECLINED', reason, act.at)))
      throw conflict(`it is ${invitation.status}`)
  })
