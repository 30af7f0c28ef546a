import type { z } from 'zod'
import { createHandlerTable, type HandlerTable, type Locale, type Words, workspaceKind } from '../../kernel/index.ts'

import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import type { MembershipRow } from './membership-store.ts'
import { tellMembership, tellWorkspace } from './render.ts'
import type { WorkspaceService } from './service.ts'

const membershipReply = (words: Words, row: MembershipRow, locale: Locale): z.input<typeof contract.Membership> => ({
  ...tellMembership(words, row, locale),
  workspaceName: row.workspaceName,
  workspaceKind: words.coded(workspaceKind, row.workspaceKind, locale),
  institutionBizId: row.institutionId,
  isDefault: row.isDefault,
})

export const createHandlers = (service: WorkspaceService, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    createWorkspace: async (request) => {
      const { workspaceName, workspaceTimezone, workspaceKind } = request.body
      const asked = { name: workspaceName, timezone: workspaceTimezone, kind: workspaceKind ?? 'LIVE' } as const
      return tellWorkspace(words, await service.create(actOf(request), asked), request.locale)
    },
    listMyWorkspaces: async ({ caller, locale }) =>
      (await service.mine(caller.accountId)).map((row) => membershipReply(words, row, locale)),
    readCurrentWorkspace: async ({ workspace, locale }) =>
      tellWorkspace(words, await service.read(workspace.id), locale),
    updateCurrentWorkspace: async (request) => {
      const { workspaceName: name, workspaceTimezone: timezone, extraData } = request.body
      const changed = await service.update(actOf(request), request.workspace.id, { name, timezone, extraData })
      return tellWorkspace(words, changed, request.locale)
    },
    setDefaultWorkspace: async (request) => {
      const membership = await service.setDefault(actOf(request), request.workspace.id)
      return membershipReply(words, membership, request.locale)
    },
    leaveWorkspace: async (request) => {
      await service.leave(actOf(request), request.workspace.id)
      return null
    },
  })
