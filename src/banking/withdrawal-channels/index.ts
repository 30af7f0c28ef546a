/**
 * Withdrawal channels: bank accounts and crypto addresses that a workspace registers for payouts and operators verify.
 * Account numbers are encrypted; a keyed digest detects duplicates. Start reading in `service.ts`.
 */
import { z } from 'zod'
import { declaredBy, domain } from '../../api/domain.ts'
import { positive } from '../../config/values.ts'
import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type HandlerTable,
  type RecoveredAccount,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { keyedColumns, migrations } from './schema.ts'
import { type ChannelsPorts, suspendChannels } from './service.ts'
import { deleteChannels, type PayoutChannelRow, readAnyChannel, readChannel, readPayoutChannel } from './store.ts'

interface PayoutChannel extends Omit<PayoutChannelRow, 'createdBy' | 'verifiedBy'> {
  /** The accounts that created and verified the channel. */
  actors: readonly AccountId[]
}

export interface WithdrawalChannels {
  handlers: HandlerTable
  /** Returns undefined if the channel does not exist in the workspace. */
  channelOf(workspace: WorkspaceId, channel: string): Promise<PayoutChannel | undefined>
  /** A null workspace selects any workspace, for operators. */
  maskedAccountOf(workspace: WorkspaceId | null, channel: string): Promise<string | undefined>
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
  /** Affects only new channels of a recovered account. */
  suspend(tx: Tx, account: RecoveredAccount): Promise<number>
}

export function createWithdrawalChannels(ports: ChannelsPorts & { words: Words }): WithdrawalChannels {
  return {
    handlers: createHandlers(ports),
    maskedAccountOf: async (workspace, channel) => {
      const id = bizId<'withdrawalChannel'>(channel)
      const found = workspace === null ? readAnyChannel(ports.database, id) : readChannel(ports.database, id, workspace)
      return (await found)?.maskedAccount
    },
    channelOf: async (workspace, id) => {
      const channel = await readPayoutChannel(ports.database, bizId<'withdrawalChannel'>(id), workspace)
      if (!channel) return undefined
      const { createdBy, verifiedBy, ...fields } = channel
      return { ...fields, actors: verifiedBy === null ? [createdBy] : [createdBy, verifiedBy] }
    },
    clean: (tx, { workspaceId }) => deleteChannels(tx, workspaceId),
    suspend: (tx, account) => suspendChannels(ports, tx, account),
  }
}

const ownerNotices = ['CHANNEL_CREATED', 'CHANNEL_VERIFIED'] as const

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    withdrawalChannels: typeof ownerNotices
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    withdrawalChannels: Pick<WithdrawalChannels, 'channelOf' | 'maskedAccountOf'>
  }
}

const settings = z.strictObject({
  maxChannelsPerWorkspace: positive.describe(
    'Maximum number of payout accounts per workspace, including those that wait for verification. Adding a further account gets 409.',
  ),
})

export default domain({
  name: 'withdrawalChannels',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  ownerNotices,
  migrations,
  keyedColumns,
  settings,
  settingsKey: 'money.withdrawal',
  defaults: { maxChannelsPerWorkspace: 100 },
  uses: ['members'],
  needs: [
    'accounts',
    'clock',
    'database',
    'digest',
    'ids',
    'isCountry',
    'ledger',
    'secretBox',
    'sessions',
    'transaction',
    'words',
  ],
  create: ({ use, accounts, sessions, settings: { maxChannelsPerWorkspace }, ...ports }) => {
    const { memberships, notices } = use('members')
    const { handlers, clean, suspend, channelOf, maskedAccountOf } = createWithdrawalChannels({
      ...ports,
      members: memberships,
      notices,
      assertSessionOpen: sessions.assertOpen,
      maxPerWorkspace: maxChannelsPerWorkspace,
      suspendYoungerThanMs: accounts.suspicionWindowMs,
    })
    const service = { channelOf, maskedAccountOf }
    return { handlers, service, onSandboxReset: clean, onAccountRecovered: suspend }
  },
})
