import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  toIso,
  type Words,
} from '../../kernel/index.ts'

import { listing, memberActing, tellKind } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { channelType, withdrawalChannelStatus } from './contract.ts'
import { type ChannelPorts, create, reject, verify } from './service.ts'
import { type Channel, listChannels, pageChannels } from './store.ts'

const told = ({ createdBy: _, ...channel }: Channel, words: Words, locale: Locale) => ({
  ...channel,
  channelType: words.coded(channelType, channel.channelType, locale),
  channelStatus: words.coded(withdrawalChannelStatus, channel.channelStatus, locale),
  createdAt: toIso(channel.createdAt),
  updatedAt: toIso(channel.updatedAt),
})

export const channelHandlers = (ports: ChannelPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    listWithdrawalChannels: async ({ query, workspace, locale }) => {
      const channels = await listChannels(ports.database, workspace.id, query)
      return channels.map((channel) => told(channel, words, locale))
    },

    createWithdrawalChannel: async (request) => {
      const { bankCode = null, network = null, ...body } = request.body
      const asked = { ...body, bankCode, network }
      const naming = { acting: memberActing(request), by: request.workspace, act: actOf(request) }
      const channel = await create(ports, asked, naming)
      return told(channel, words, request.locale)
    },

    listAllWithdrawalChannels: async ({ query, locale }) => {
      const { workspaceId, workspaceKind, channelStatus, channelType, currency, sortBy } = query
      const channels = await pageChannels(ports.database, {
        ...listing(query),
        workspace: workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId),
        workspaceKind,
        channelStatus,
        channelType,
        currency,
        sortBy,
      })
      return mapPage(channels, (channel) => ({
        ...told(channel, words, locale),
        ...tellKind(channel.workspaceKind, { words, locale }),
      }))
    },

    verifyWithdrawalChannel: async (request) =>
      told(await verify(ports, bizId(request.params.withdrawal_channel_id), actOf(request)), words, request.locale),

    rejectWithdrawalChannel: async (request) => {
      const id = bizId<'withdrawalChannel'>(request.params.withdrawal_channel_id)
      return told(await reject(ports, id, request.body.reason, actOf(request)), words, request.locale)
    },
  })
