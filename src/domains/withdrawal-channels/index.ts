import type { Tx } from '../../database/index.ts'
import { bizId, type HandlerTable, type Words, type WorkspaceId } from '../../kernel/index.ts'
import { channelHandlers } from './handlers.ts'
import type { ChannelPorts } from './service.ts'
import { type Channel, deleteChannelsOf, readChannel } from './store.ts'

export interface WithdrawalChannels {
  handlers: HandlerTable
  /** What a payout has to know of a workspace's channel; undefined for an unknown one and another workspace's alike. */
  channelOf(
    workspace: WorkspaceId,
    channel: string,
  ): Promise<Pick<Channel, 'channelType' | 'channelStatus' | 'currency'> | undefined>
  /** For a sandbox that is emptied. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

export const createWithdrawalChannels = (ports: ChannelPorts & { words: Words }): WithdrawalChannels => ({
  handlers: channelHandlers(ports, ports.words),
  channelOf: (workspace, channel) => readChannel(ports.database, bizId<'withdrawalChannel'>(channel), workspace),
  clean: (tx, { workspaceId }) => deleteChannelsOf(tx, workspaceId),
})
