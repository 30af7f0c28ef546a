import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { invitationStatus } from './contract.ts'
import type { InvitationService } from './service.ts'
import type { InvitationRow } from './store.ts'

export const createHandlers = (service: InvitationService, words: Words): HandlerTable => {
  const reply = (row: InvitationRow, locale: Locale) => ({
    bizId: row.id,
    workspaceBizId: row.workspaceId,
    workspaceName: row.workspaceName,
    inviteeEmail: row.email,
    roleBizId: row.roleId,
    roleName: row.roleName,
    inviterBizId: row.inviterId,
    invitationStatus: words.coded(invitationStatus, row.status, locale),
    declineReason: row.declineReason,
    message: row.message,
    expiresAt: toIso(row.expiresAt),
    respondedAt: toIsoOrNull(row.respondedAt),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  })

  return createHandlerTable(contract, {
    listMyInvitations: async ({ caller, query, receivedAt, locale }) =>
      (await service.listTo(caller.accountId, query.invitationStatus, receivedAt)).map((row) => reply(row, locale)),
    listInvitations: async ({ workspace, query, receivedAt, locale }) =>
      (await service.listOf(workspace.id, query.invitationStatus, receivedAt)).map((row) => reply(row, locale)),
    createInvitation: async (request) => {
      const { email, roleBizId, message } = request.body
      const asked = { email, roleId: bizId<'role'>(roleBizId), message: message ?? null, locale: request.locale }
      return reply(await service.create(actOf(request), request.workspace, asked), request.locale)
    },
    cancelInvitation: async (request) => {
      const id = bizId<'invitation'>(request.body.invitationBizId)
      return reply(await service.cancel(actOf(request), request.workspace.id, id), request.locale)
    },
    acceptInvitation: async (request) => {
      const id = bizId<'invitation'>(request.body.invitationBizId)
      return reply(await service.accept(actOf(request), id), request.locale)
    },
    declineInvitation: async (request) => {
      const id = bizId<'invitation'>(request.body.invitationBizId)
      return reply(await service.decline(actOf(request), id, request.body.reason), request.locale)
    },
  })
}
