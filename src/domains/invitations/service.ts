import { inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  type Locale,
  notFound,
  parseLocale,
  Refusal,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type Act, recordAct, recordRefusedAct } from '../../platform/audit/index.ts'
import type { InvitationStatus } from './contract.ts'
import { countPending, fullLimit } from './count-store.ts'
import { personByEmail, personById, roleIn } from './people-store.ts'
import type { InvitationPorts } from './ports.ts'
import { lifeDays, limitPeriod, mayStillOffer, requireMayOffer, requireWithinLimits } from './rules.ts'
import {
  expireOverdue,
  type InvitationId,
  type InvitationRow,
  insertInvitation,
  invitationById,
  listInvitations,
  settle,
} from './store.ts'

const conflict = (internal: string): Refusal => new Refusal('STATE.CONFLICT', { internal })

const present = (row: InvitationRow | undefined): InvitationRow => {
  if (!row) throw notFound('no such invitation on this side')
  return row
}

export interface Asked {
  email: string
  roleId: RoleId
  message: string | null
  locale: Locale
}

export const createService = (ports: InvitationPorts) => {
  const { database, ids, members, settings } = ports

  /** The caller's own address, which invitations to it are theirs by. */
  const ownEmail = async (store: typeof database | Tx, id: AccountId): Promise<string | undefined> =>
    (await personById(store, id))?.verifiedEmail ?? undefined

  const make = (act: Act, by: WorkspaceAccess, { email, roleId, message }: Asked): Promise<InvitationRow> =>
    inTransaction(database, async (tx) => {
      const workspace = by.id
      await members.holdFor(tx, act.accountId, by)
      const role = await roleIn(tx, workspace, roleId)
      if (!role) throw notFound('no such role in this workspace')
      requireMayOffer(by, role)
      const since = addMs(act.at, -limitPeriod)
      requireWithinLimits(
        {
          full: await fullLimit(tx, { workspaceId: workspace, inviterId: act.accountId, email }, since, settings),
          pending: await countPending(tx, workspace, act.at),
        },
        settings,
        act.at,
      )
      // Of an address without an account a membership is looked up as well: who invites is not to learn by the time who has one.
      const invitee = (await personByEmail(tx, email))?.accountId ?? ids.next<'account'>()
      if (await members.find(tx, invitee, workspace)) throw conflict('a member already')
      await expireOverdue(tx, workspace, email, act.at)
      const id = ids.next<'invitation'>()
      const offer = { roleId, roleName: role.name, message, expiresAt: addMs(act.at, settings.lifeMs) }
      const made = { id, workspaceId: workspace, email, inviterId: act.accountId, ...offer }
      if (!(await insertInvitation(tx, made, act.at))) throw conflict('an invitation to this address waits')
      await recordAct(tx, act, { workspaceId: workspace, targetId: id, detail: { role: roleId } })
      return present(await invitationById(tx, id, { workspaceId: workspace }, act.at))
    })

  /** In the language of the one who is invited, where that is known. */
  const mail = async (made: InvitationRow, fallback: Locale): Promise<void> => {
    const inviter = await personById(database, made.inviterId)
    const invitee = await personByEmail(database, made.email)
    await ports.mailer.send({
      to: made.email,
      template: 'workspace-invitation',
      locale: invitee ? parseLocale(invitee.language) : fallback,
      values: {
        inviter: inviter?.name ?? '',
        workspace: made.workspaceName,
        role: made.roleName,
        message: made.message ?? '',
        days: String(lifeDays(settings)),
        url: ports.portalUrl,
      },
    })
  }

  /** One invitation of the caller's, ended in their favour or not. */
  const answer = (
    act: Act,
    id: InvitationId,
    work: (tx: Tx, invitation: InvitationRow) => Promise<void>,
  ): Promise<InvitationRow> =>
    inTransaction(database, async (tx) => {
      const email = await ownEmail(tx, act.accountId)
      const side = { email: email ?? '' }
      const invitation = present(await invitationById(tx, id, side, act.at))
      await work(tx, invitation)
      await recordAct(tx, act, { workspaceId: invitation.workspaceId, targetId: id })
      return present(await invitationById(tx, id, side, act.at))
    })

  /** What the one who invited may do in the workspace by now. */
  const inviterNow = async (tx: Tx, { inviterId, workspaceId }: InvitationRow): Promise<WorkspaceAccess | undefined> =>
    (await personById(tx, inviterId))?.isActive ? members.accessOf(tx, inviterId, workspaceId) : undefined

  /** `failure` is why the act that made it takes it back: the log then has it as refused. */
  const cancel = (act: Act, workspaceId: WorkspaceId, id: InvitationId, failure?: string): Promise<InvitationRow> =>
    inTransaction(database, async (tx) => {
      const invitation = present(await invitationById(tx, id, { workspaceId }, act.at))
      if (!(await settle(tx, invitation, 'CANCELLED', null, act.at))) throw conflict(`it is ${invitation.status}`)
      const on = { workspaceId, targetId: id }
      if (failure === undefined) await recordAct(tx, act, on)
      else await recordRefusedAct(tx, act, { ...on, detail: { reason: failure } })
      return present(await invitationById(tx, id, { workspaceId }, act.at))
    })

  return {
    listOf: (workspaceId: WorkspaceId, status: InvitationStatus | undefined, at: Act['at']) =>
      listInvitations(database, { workspaceId }, status, at),

    listTo: async (accountId: AccountId, status: InvitationStatus | undefined, at: Act['at']) => {
      const email = await ownEmail(database, accountId)
      return email === undefined ? [] : listInvitations(database, { email }, status, at)
    },

    /** An invitation that could not be mailed does not stay. */
    create: async (act: Act, by: WorkspaceAccess, asked: Asked): Promise<InvitationRow> => {
      const made = await make(act, by, asked)
      try {
        await mail(made, asked.locale)
      } catch (error) {
        await cancel(act, by.id, made.id, 'NOT_MAILED')
        throw error
      }
      return made
    },

    cancel,

    accept: (act: Act, id: InvitationId): Promise<InvitationRow> =>
      answer(act, id, async (tx, invitation) => {
        const { workspaceId, roleId } = invitation
        const workspace = await members.hold(tx, workspaceId)
        if (workspace?.status !== 'ACTIVE') throw new Refusal('WORKSPACE.NOT_ACTIVE')
        if (!(await settle(tx, invitation, 'ACCEPTED', null, act.at))) throw conflict(`it is ${invitation.status}`)
        const role = await roleIn(tx, workspaceId, roleId)
        if (!role) throw conflict('the role is gone')
        if (!mayStillOffer(await inviterNow(tx, invitation), role)) throw conflict('its inviter may no longer make it')
        const member = { workspaceId, accountId: act.accountId, roleId, joinSource: 'INVITATION' } as const
        if (!(await members.add(tx, member, act.at))) throw conflict('a member already')
      }),

    decline: (act: Act, id: InvitationId, reason: string): Promise<InvitationRow> =>
      answer(act, id, async (tx, invitation) => {
        if (!(await settle(tx, invitation, 'DECLINED', reason, act.at))) throw conflict(`it is ${invitation.status}`)
      }),
  }
}

export type InvitationService = ReturnType<typeof createService>
