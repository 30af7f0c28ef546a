/**
 * Withdrawal channels: bank accounts and crypto addresses that a workspace registers for payouts, and that operators verify.
 * Account numbers are encrypted; a keyed digest detects duplicates. Start reading in `service.ts`.
 */
import type { Tx } from '../../database/index.ts'
import { bizId, type HandlerTable, type Words, type WorkspaceId } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import type { ChannelsPorts } from './service.ts'
import { type Channel, deleteChannels, readChannel } from './store.ts'

export interface WithdrawalChannels {
  handlers: HandlerTable
  /** The channel of a payout. Returns undefined for an unknown channel and for one of another workspace. */
  channelOf(
    workspace: WorkspaceId,
    channel: string,
  ): Promise<Pick<Channel, 'channelType' | 'channelStatus' | 'currency'> | undefined>
  /** Deletes the channels of a sandbox during its reset. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

/** Builds the domain. */
export const createWithdrawalChannels = (ports: ChannelsPorts & { words: Words }): WithdrawalChannels => ({
  handlers: createHandlers(ports, ports.words),
  channelOf: (workspace, channel) => readChannel(ports.database, bizId<'withdrawalChannel'>(channel), workspace),
  clean: (tx, { workspaceId }) => deleteChannels(tx, workspaceId),
})
