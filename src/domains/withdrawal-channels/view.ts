import { toIso } from '../../kernel/index.ts'
import { toCodedValue, toWorkspaceKindView, type Viewer } from '../../ledger/index.ts'
import { channelType, withdrawalChannelStatus } from './contract.ts'
import type { Channel, ListedChannel } from './store.ts'

/** A channel with its masked account. */
export const toChannelView = ({ createdBy: _, ...channel }: Channel, viewer: Viewer) => ({
  ...channel,
  channelType: toCodedValue(channelType, channel.channelType, viewer),
  channelStatus: toCodedValue(withdrawalChannelStatus, channel.channelStatus, viewer),
  createdAt: toIso(channel.createdAt),
  updatedAt: toIso(channel.updatedAt),
})

/** The same with the kind of the workspace, for operators. */
export const toListedChannelView = (channel: ListedChannel, viewer: Viewer) => ({
  ...toChannelView(channel, viewer),
  ...toWorkspaceKindView(channel.workspaceKind, viewer),
})
