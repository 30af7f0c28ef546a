import type { z } from 'zod'
import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  parseInterval,
  type Request,
  toIso,
  toIsoOrNull,
  type Words,
  type WorkspaceId,
  workspaceKind,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { joinSource, type Membership } from './contract.ts'
import { isDefaultEligible, isEnterable } from './rules.ts'
import {
  leaveWorkspace,
  limitMember,
  listMembers,
  listMembersOf,
  listMyMemberships,
  type MemberPorts,
  setDefaultMembership,
} from './service.ts'
import type { MemberQuery, MemberRow, MembershipRow } from './store.ts'

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

function toMembershipView(words: Words, row: MembershipRow, locale: Locale): z.input<typeof Membership> {
  return {
    ...toSharedFields(words, row, locale),
    workspaceName: row.workspaceName,
    workspaceKind: words.coded(workspaceKind, row.workspaceKind, locale),
    institutionBizId: row.institutionId,
    isDefault: row.isDefault,
  }
}

function toSharedFields(words: Words, row: MembershipRow, locale: Locale) {
  return {
    userBizId: row.accountId,
    workspaceBizId: row.workspaceId,
    workspaceRoleBizId: row.roleId,
    workspaceRoleName: row.roleName,
    joinSource: words.coded(joinSource, row.joinSource, locale),
    isOwner: row.roleType === 'OWNER',
    enterable: isEnterable(row),
    defaultEligible: isDefaultEligible(row),
    policyConfig: toRecord(row.policyConfig),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}

function toRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
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

function toMemberView(words: Words, row: MemberRow, locale: Locale) {
  return {
    ...toSharedFields(words, row, locale),
    accountName: row.accountName,
    accountEmail: row.accountEmail,
    suspendedAt: toIsoOrNull(row.suspendedAt),
  }
}
