/**
 * Withdrawal channels: bank accounts and crypto addresses that a workspace registers for payouts and operators verify.
 * Account numbers are encrypted; a keyed digest detects duplicates. Start reading in `service.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import { bizId, type HandlerTable, type Words, type WorkspaceId } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { migrations } from './schema.ts'
import type { ChannelsPorts } from './service.ts'
import { type Channel, deleteChannels, readChannel } from './store.ts'

export interface WithdrawalChannels {
  handlers: HandlerTable
  /** Returns the channel of a payout, or undefined if it does not exist in the workspace. */
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

declare module '../../api/services.ts' {
  interface DomainServices {
    withdrawalChannels: Pick<WithdrawalChannels, 'channelOf'>
  }
}

export default domain({
  name: 'withdrawalChannels',
  ...declaredBy(contract),
  migrations,
  uses: ['members'],
  create: ({ use, configuration, ...ports }) => {
    const { memberships } = use('members')
    const { handlers, clean, channelOf } = createWithdrawalChannels({
      ...ports,
      members: { assertAccess: (tx, account, access) => memberships.assertAccess(tx, account, access) },
      maxPerWorkspace: configuration.money.withdrawal.maxChannelsPerWorkspace,
    })
    return { handlers, service: { channelOf }, onSandboxReset: clean }
  },
})
