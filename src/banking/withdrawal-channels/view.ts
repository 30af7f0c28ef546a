import { toIso } from '../../kernel/index.ts'
import { toCodedValue, toWorkspaceKindView, type Viewer } from '../../ledger/index.ts'
import { channelType, withdrawalChannelStatus } from './contract.ts'
import type { RevealedChannel } from './service.ts'
import type { Channel, ListedChannel } from './store.ts'

export function toChannelView({ createdBy: _by, verifiedBy: _verifier, ...channel }: Channel, viewer: Viewer) {
  return {
    ...channel,
    channelType: toCodedValue(channelType, channel.channelType, viewer),
    channelStatus: toCodedValue(withdrawalChannelStatus, channel.channelStatus, viewer),
    createdAt: toIso(channel.createdAt),
    updatedAt: toIso(channel.updatedAt),
  }
}

export function toListedChannelView(channel: ListedChannel, viewer: Viewer) {
  return {
    ...toChannelView(channel, viewer),
    ...toWorkspaceKindView(channel.workspaceKind, viewer),
  }
}

export function toRevealedView({ accountNumber, ...channel }: RevealedChannel, viewer: Viewer) {
  return {
    ...toChannelView(channel, viewer),
    accountNumber,
  }
}
