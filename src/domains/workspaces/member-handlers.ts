import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  parseInterval,
  type Request,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from '../members/contract.ts'
import type { MemberQuery, MemberRow } from './member-list-store.ts'
import type { MemberService } from './member-service.ts'
import { tellMembership } from './render.ts'

type Query = Request<typeof contract.listMembers>['query']

const asked = (workspaceId: WorkspaceId, query: Query): MemberQuery => {
  const { roleBizId, accountName: name, accountEmail: email, startTime, endTime, ...paging } = query
  return {
    ...paging,
    workspaceId,
    name,
    email,
    roleId: roleBizId === undefined ? undefined : bizId(roleBizId),
    ...parseInterval({ startTime, endTime }),
  }
}

export const createMemberHandlers = (service: MemberService, words: Words): HandlerTable => {
  const reply = (row: MemberRow, locale: Locale) => ({
    ...tellMembership(words, row, locale),
    accountName: row.accountName,
    accountEmail: row.accountEmail,
  })
  return createHandlerTable(contract, {
    listMembers: async ({ workspace, query, locale }) =>
      mapPage(await service.list(asked(workspace.id, query)), (row) => reply(row, locale)),
    listMembersOf: async ({ params, query, locale }) =>
      mapPage(await service.listOf(asked(bizId(params.workspace_id), query)), (row) => reply(row, locale)),
    limitMember: async (request) => {
      const { userBizId, policyConfig, reason } = request.body
      const limiting = { accountId: bizId<'account'>(userBizId), policyConfig, reason }
      return reply(await service.limit(actOf(request), bizId(request.params.workspace_id), limiting), request.locale)
    },
  })
}
