import * as z from 'zod'
import { accountEmail } from '../../contract/account-fields.ts'
import { type Events, event, statusEvents } from '../../contract/events/event.ts'
import { bizId, coded, codeOf, id, portalCode, reason, text, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import { type Permissions, permissionCodes } from '../../contract/permissions.ts'
import { operator } from '../../contract/policies.ts'
import { Operator } from '../../contract/shared-schemas.ts'
import { type CodeOf, type ConfirmedTexts, codedFamily, operation, type Purpose } from '../../kernel/index.ts'

export const summary = 'Rights of operators and recovery of accounts, decided by two operators.'

export const permissions = {
  operator: {
    operator: { sortOrder: 1300, actions: ['read', 'manage'], powers: ['manage'] },
    recovery: { sortOrder: 1400, actions: ['manage'], powers: ['manage'] },
  },
} as const satisfies Permissions

export const proposalKind = codedFamily('proposalKind', {
  PERMISSIONS: 10095001,
  RESTORE_OWNER: 10095002,
  RESET_FACTOR: 10095003,
})
export type ProposalKind = CodeOf<typeof proposalKind>

export const proposalStatus = codedFamily('proposalStatus', {
  PENDING: 10095101,
  SCHEDULED: 10095102,
  DONE: 10095103,
  REJECTED: 10095104,
  CANCELLED: 10095105,
  EXPIRED: 10095106,
})
export type ProposalStatus = CodeOf<typeof proposalStatus>

/**
 * The permission codes are the complete new list, or null for other kinds. A scheduled reset takes effect at
 * executesAt.
 */
const Proposal = z.object({
  bizId,
  proposalKind: coded(proposalKind),
  proposalStatus: coded(proposalStatus),
  subjectBizId: bizId,
  subjectEmail: z.string(),
  workspaceBizId: bizId.nullable(),
  permissionCodes: z.array(z.string()).nullable(),
  reason: z.string(),
  proposedBy: bizId.nullable().meta({ description: 'Null if an identity provider proposed it.' }),
  decidedBy: bizId.nullable(),
  expiresAt: timestamp,
  executesAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

const operatorEvent = { audience: 'operators', permission: 'operator:read' } as const

export const events = {
  ...statusEvents('proposal', proposalStatus.codes, { ...operatorEvent, object: 'A proposal', data: Proposal }),
  'operator.permissions_changed': event({
    ...operatorEvent,
    summary: 'An operator got other permissions.',
    data: Operator,
  }),
} as const satisfies Events

declare global {
  interface PorticoEvents {
    proposals: typeof events
  }
}

const reading = { ...operator, permission: 'operator:read' } as const
const managing = { ...operator, permission: 'operator:manage', stepUp: true } as const
const recovering = { ...operator, permission: 'recovery:manage', stepUp: true } as const
const read = { method: 'GET', chains: ['system'], policy: reading, body: 'none', refuses: [] } as const
const proposed = ['proposal.pending', 'proposal.expired'] as const
/** The new owner is a new member, or gets back the role and the membership. */
const restored = ['member.joined', 'member.role_changed', 'member.restored'] as const
const propose = {
  method: 'POST',
  chains: ['system'],
  reply: Proposal,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const listOperators = operation({
  ...read,
  id: 'proposals.listOperators',
  path: '/operators',
  summary: 'List the operators with their permissions',
  query: listQuery(['createdAt', 'accountEmail'], { accountEmail: text(320).optional(), accountId: id.optional() }),
  reply: page(Operator),
})

export const listProposals = operation({
  ...read,
  id: 'proposals.list',
  path: '/proposals',
  summary: 'List proposals',
  query: listQuery(['createdAt', 'updatedAt'], {
    proposalStatus: codeOf(proposalStatus).optional(),
    proposalKind: codeOf(proposalKind).optional(),
    proposalId: id.optional(),
  }),
  reply: page(Proposal),
})

export const proposePermissions = operation({
  ...propose,
  id: 'proposals.proposePermissions',
  path: '/operators/{account_id}/permissions/propose',
  emits: proposed,
  summary: 'Propose the new permissions of an operator',
  policy: managing,
  confirms: ['account_id', 'permissionCodes'],
  purpose: ofAccount,
  body: z.strictObject({ permissionCodes: permissionCodes('operatorPermissions'), reason }),
})

export const revokeOperatorPermissions = operation({
  ...propose,
  id: 'proposals.revokePermissions',
  path: '/operators/{account_id}/permissions/revoke',
  emits: ['proposal.done', 'proposal.expired', 'operator.permissions_changed'],
  summary: 'Revoke permissions of an operator immediately',
  policy: managing,
  confirms: ['account_id', 'permissionCodes'],
  purpose: ofAccount,
  body: z.strictObject({ permissionCodes: permissionCodes('operatorPermissions', 1), reason }),
})

export const proposeOwner = operation({
  ...propose,
  id: 'proposals.proposeOwner',
  path: '/workspaces/{workspace_id}/owner/propose',
  emits: proposed,
  summary: 'Propose an owner for a workspace without one',
  policy: recovering,
  confirms: ['workspace_id', 'userBizId'],
  purpose: ({ userBizId: account }) => ({ payee: { account } }),
  body: z.strictObject({ userBizId: id, reason }),
})

export const resetAccountFactors = operation({
  ...propose,
  id: 'proposals.resetFactor',
  path: '/accounts/{account_id}/factors/reset',
  emits: [...proposed, 'proposal.scheduled', 'proposal.done', 'session.ended'],
  summary: 'Request the reset of an account’s second factors',
  policy: recovering,
  purpose: ofAccount,
  body: z.strictObject({ reason }),
})

export const confirmProposal = operation({
  ...propose,
  id: 'proposals.confirm',
  path: '/proposals/{proposal_id}/confirm',
  emits: ['proposal.done', 'proposal.scheduled', 'operator.permissions_changed', 'session.ended', ...restored],
  summary: 'Confirm the proposal of another operator',
  policy: { ...reading, stepUp: true, changesRights: true },
  body: 'none',
})

export const rejectProposal = operation({
  ...propose,
  id: 'proposals.reject',
  path: '/proposals/{proposal_id}/reject',
  emits: ['proposal.rejected'],
  summary: 'Reject or withdraw a proposal',
  policy: { ...reading, stepUp: true },
  body: z.strictObject({ reason }),
})

export const invitePerson = operation({
  method: 'POST',
  chains: ['system'],
  id: 'proposals.invite',
  path: '/identity-providers/invitations',
  summary: 'Invite a person to sign in with an identity provider',
  description:
    'The first sign-in creates an account without permissions. Operators get permissions by proposals, which a second ' +
    'operator confirms.',
  policy: managing,
  body: z.strictObject({ accountPortal: portalCode, providerId: text(32), email: accountEmail }),
  confirms: ['accountPortal', 'providerId', 'email'],
  purpose: ({ email }) => ({ payee: { email } }),
  reply: z.object({ bizId, providerId: z.string(), email: z.string(), expiresAt: timestamp }),
  refuses: ['STATE.CONFLICT'],
})

function ofAccount({ account_id: account }: ConfirmedTexts): Purpose {
  return { payee: { account } }
}
