import { bizId, createHandlerTable, type HandlerTable, type Words } from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import {
  acceptInvitation,
  cancelInvitation,
  confirmInvitation,
  createInvitation,
  declineInvitation,
  type InvitationPorts,
  listMyInvitations,
  listWorkspaceInvitations,
} from './service.ts'
import { toInvitationView } from './view.ts'

export function createHandlers(ports: InvitationPorts & { words: Words }): HandlerTable {
  const { words } = ports
  return createHandlerTable(contract, {
    listMyInvitations: async ({ caller, query, receivedAt, locale }) => {
      const filter = { accountId: caller.accountId, status: query.invitationStatus }
      const invitations = await listMyInvitations(ports, filter, receivedAt)
      return invitations.map((row) => toInvitationView(words, row, locale))
    },
    listInvitations: async ({ workspace, query, receivedAt, locale }) => {
      const filter = { workspaceId: workspace.id, status: query.invitationStatus }
      const invitations = await listWorkspaceInvitations(ports, filter, receivedAt)
      return invitations.map((row) => toInvitationView(words, row, locale))
    },
    createInvitation: async (request) => {
      const { email, roleBizId, message = null } = request.body
      const input = { email, roleId: bizId<'role'>(roleBizId), message, locale: request.locale }
      const context = { caller: request.caller, auditContext: auditContextOf(request), access: request.workspace }
      return toInvitationView(words, await createInvitation(ports, input, context), request.locale)
    },
    cancelInvitation: async (request) => {
      const id = bizId<'invitation'>(request.body.invitationBizId)
      const input = { workspaceId: request.workspace.id, id }
      return toInvitationView(words, await cancelInvitation(ports, input, auditContextOf(request)), request.locale)
    },
    confirmInvitation: async (request) => {
      const input = { id: bizId<'invitation'>(request.body.invitationBizId) }
      const context = { caller: request.caller, auditContext: auditContextOf(request), access: request.workspace }
      return toInvitationView(words, await confirmInvitation(ports, input, context), request.locale)
    },
    acceptInvitation: async (request) => {
      const id = bizId<'invitation'>(request.body.invitationBizId)
      return toInvitationView(words, await acceptInvitation(ports, id, auditContextOf(request)), request.locale)
    },
    declineInvitation: async (request) => {
      const input = { id: bizId<'invitation'>(request.body.invitationBizId), reason: request.body.reason }
      return toInvitationView(words, await declineInvitation(ports, input, auditContextOf(request)), request.locale)
    },
  })
}
