import * as z from 'zod'
import { accountEmail } from '../../contract/account-fields.ts'
import { narrowed } from '../../contract/events/caused.ts'
import { statusEvents } from '../../contract/events/event.ts'
import { bizId, coded, codeOf, id, memberReason, orNone, text, timestamp } from '../../contract/fields.ts'

import type { Permissions } from '../../contract/permissions.ts'
import { member, own } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'

export const summary = 'Invitations to a workspace, sent and received.'

export const permissions = {
  workspace: {
    invitation: { sortOrder: 400, actions: ['read', 'manage'], peopleOnly: ['manage'], powers: ['manage'] },
  },
} as const satisfies Permissions

export const invitationStatus = codedFamily('invitationStatus', {
  PENDING: 10091301,
  ACCEPTED: 10091302,
  DECLINED: 10091303,
  CANCELLED: 10091304,
  EXPIRED: 10091305,
  SUSPENDED: 10091306,
})
export type InvitationStatus = CodeOf<typeof invitationStatus>

const Invitation = z.object({
  bizId,
  workspaceBizId: bizId,
  workspaceName: z.string(),
  inviteeEmail: z.string(),
  roleBizId: bizId,
  roleName: z.string(),
  inviterBizId: bizId,
  invitationStatus: coded(invitationStatus),
  declineReason: z.string().nullable(),
  message: z.string().nullable(),
  expiresAt: timestamp,
  respondedAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

/** No operator reads invitations. */
export const events = statusEvents('invitation', invitationStatus.codes, {
  object: 'An invitation',
  data: Invitation,
  audience: 'workspace',
  permission: 'invitation:read',
  operatorPermission: null,
})

declare global {
  interface PorticoEvents {
    invitations: typeof events
  }
}

const list = {
  method: 'GET',
  chains: ['consumer'],
  body: 'none',
  query: z.strictObject({ invitationStatus: codeOf(invitationStatus).optional() }),
  reply: z.array(Invitation),
  refuses: [],
} as const

const command = {
  method: 'POST',
  chains: ['consumer'],
  reply: Invitation,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const listMyInvitations = operation({
  ...list,
  id: 'invitations.mine',
  path: '/profile/invitations',
  summary: 'List the invitations to the caller’s e-mail address',
  policy: own,
})

export const acceptInvitation = operation({
  ...command,
  id: 'invitations.accept',
  path: '/profile/invitations/accept',
  emits: ['invitation.accepted', 'member.joined'],
  summary: 'Accept an invitation and join its workspace',
  policy: { ...own, changesRights: true },
  body: z.strictObject({ invitationBizId: id }),
  refuses: [...command.refuses, 'WORKSPACE.NOT_ACTIVE'],
})

export const declineInvitation = operation({
  ...command,
  id: 'invitations.decline',
  path: '/profile/invitations/decline',
  emits: ['invitation.declined'],
  summary: 'Decline an invitation',
  policy: own,
  body: z.strictObject({ invitationBizId: id, reason: memberReason }),
})

const managing = { ...member, workspace: 'optional', permission: 'invitation:manage' } as const

export const listInvitations = operation({
  ...list,
  id: 'invitations.list',
  path: '/invitations',
  summary: 'List the invitations of a workspace',
  policy: { ...managing, permission: 'invitation:read' },
})

export const createInvitation = operation({
  ...command,
  id: 'invitations.create',
  path: '/invitations',
  emits: ['invitation.pending', ...narrowed],
  summary: 'Invite a person to a workspace with a role',
  policy: { ...managing, stepUp: 'maybe' },
  confirms: ['email', 'roleBizId'],
  purpose: ({ email, roleBizId: role }) => ({ role, payee: { email } }),
  body: z.strictObject({ email: accountEmail, roleBizId: id, message: orNone(text(512, 0)) }),
  refuses: [...command.refuses, 'ACCESS.PAYOUT_HOLD'],
})

export const cancelInvitation = operation({
  ...command,
  id: 'invitations.cancel',
  path: '/invitations/cancel',
  emits: ['invitation.cancelled'],
  summary: 'Cancel a pending or suspended invitation',
  policy: managing,
  body: z.strictObject({ invitationBizId: id }),
})

export const confirmInvitation = operation({
  ...command,
  id: 'invitations.confirm',
  path: '/invitations/confirm',
  emits: ['invitation.pending'],
  summary: 'Confirm a suspended invitation',
  policy: { ...managing, stepUp: true },
  confirms: ['invitationBizId'],
  body: z.strictObject({ invitationBizId: id }),
  refuses: [...command.refuses, 'ACCESS.PAYOUT_HOLD'],
})
