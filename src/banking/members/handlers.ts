import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  parseInterval,
  type Request,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import {
  leaveWorkspace,
  limitMember,
  listMembers,
  listMembersOf,
  listMyMemberships,
  type MemberPorts,
  setDefaultMembership,
} from './service.ts'
import type { MemberQuery } from './store.ts'
import { toMembershipView, toMemberView } from './view.ts'

export function createHandlers(ports: MemberPorts & { words: Words }): HandlerTable {
  const { words } = ports
  return createHandlerTable(contract, {
    listMyWorkspaces: async ({ caller, locale }) =>
      (await listMyMemberships(ports, caller.accountId)).map((row) => toMembershipView(words, row, locale)),
    setDefaultWorkspace: async (request) => {
      const membership = await setDefaultMembership(ports, request.workspace.id, auditContextOf(request))
      return toMembershipView(words, membership, request.locale)
    },
    leaveWorkspace: async (request) => {
      await leaveWorkspace(ports, request.workspace.id, request.caller, auditContextOf(request))
      return null
    },
    listMembers: async ({ workspace, query, locale }) =>
      mapPage(await listMembers(ports, toMemberQuery(workspace.id, query)), (row) => toMemberView(words, row, locale)),
    listMembersOf: async ({ params, query, locale }) => {
      const members = await listMembersOf(ports, toMemberQuery(bizId(params.workspace_id), query))
      return mapPage(members, (row) => toMemberView(words, row, locale))
    },
    limitMember: async (request) => {
      const { userBizId, policyConfig, reason } = request.body
      const workspaceId = bizId<'workspace'>(request.params.workspace_id)
      const limits = { workspaceId, accountId: bizId<'account'>(userBizId), policyConfig, reason }
      return toMemberView(words, await limitMember(ports, limits, auditContextOf(request)), request.locale)
    },
  })
}

type Query = Request<typeof contract.listMembers>['query']

function toMemberQuery(workspaceId: WorkspaceId, query: Query): MemberQuery {
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
