import { bizId, createHandlerTable, type HandlerTable, mapPage, type Words } from '../../kernel/index.ts'
import { memberContext, toListParameters, viewerOf } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import {
  type ChannelsPorts,
  createChannel,
  reactivateChannel,
  rejectChannel,
  revealChannel,
  verifyChannel,
} from './service.ts'
import { listAllChannels, listChannels } from './store.ts'
import { toChannelView, toListedChannelView, toRevealedView } from './view.ts'

export function createHandlers(ports: ChannelsPorts & { words: Words }): HandlerTable {
  const { words } = ports
  return createHandlerTable(contract, {
    listWithdrawalChannels: async (request) => {
      const channels = await listChannels(ports.database, request.workspace.id, request.query)
      return channels.map((channel) => toChannelView(channel, viewerOf(words, request)))
    },

    createWithdrawalChannel: async (request) => {
      const { bankCode = null, network = null, ...body } = request.body
      const context = {
        command: memberContext(request),
        caller: request.caller,
        access: request.workspace,
        auditContext: auditContextOf(request),
      }
      const channel = await createChannel(ports, { ...body, bankCode, network }, context)
      return toChannelView(channel, viewerOf(words, request))
    },

    reactivateWithdrawalChannel: async (request) => {
      const input = { id: bizId<'withdrawalChannel'>(request.params.withdrawal_channel_id) }
      const context = { caller: request.caller, access: request.workspace, auditContext: auditContextOf(request) }
      return toChannelView(await reactivateChannel(ports, input, context), viewerOf(words, request))
    },

    listAllWithdrawalChannels: async (request) => {
      const { workspaceId, withdrawalChannelId, startTime: _start, endTime: _end, ...filters } = request.query
      const channels = await listAllChannels(ports.database, {
        ...filters,
        ...toListParameters(request.query),
        workspace: workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId),
        id: withdrawalChannelId === undefined ? undefined : bizId<'withdrawalChannel'>(withdrawalChannelId),
      })
      return mapPage(channels, (channel) => toListedChannelView(channel, viewerOf(words, request)))
    },

    verifyWithdrawalChannel: async (request) => {
      const input = { id: bizId<'withdrawalChannel'>(request.params.withdrawal_channel_id) }
      return toChannelView(await verifyChannel(ports, input, auditContextOf(request)), viewerOf(words, request))
    },

    rejectWithdrawalChannel: async (request) => {
      const { params, body } = request
      const input = { id: bizId<'withdrawalChannel'>(params.withdrawal_channel_id), reason: body.reason }
      return toChannelView(await rejectChannel(ports, input, auditContextOf(request)), viewerOf(words, request))
    },

    revealWithdrawalChannel: async (request) => {
      const { params, body } = request
      const input = { id: bizId<'withdrawalChannel'>(params.withdrawal_channel_id), reason: body.reason }
      return toRevealedView(await revealChannel(ports, input, auditContextOf(request)), viewerOf(words, request))
    },
  })
}
