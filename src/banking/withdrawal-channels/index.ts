/**
 * Withdrawal channels: bank accounts and crypto addresses that a workspace registers for payouts and operators verify.
 * Account numbers are encrypted; duplicates are found by their canonical form. Start reading in `service.ts`.
 */
import { z } from 'zod'
import { declaredBy, domain } from '../../api/domain.ts'
import { positive } from '../../config/values.ts'
import type { Tx } from '../../database/index.ts'
import {
  bizId,
  type HandlerTable,
  type Instant,
  type RecoveredAccount,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { channelEvents } from './events.ts'
import { createHandlers } from './handlers.ts'
import { defaultNetworks, networksSetting } from './networks.ts'
import { keyedColumns, migrations } from './schema.ts'
import { type ChannelsPorts, findPayoutChannel, type PayoutChannel, suspendChannels } from './service.ts'
import { countUnverified, deleteChannels, readAnyChannel, readChannel } from './store.ts'

export interface WithdrawalChannels {
  handlers: HandlerTable
  events: EventMapper[]
  /** Returns undefined if the channel does not exist in the workspace. */
  channelOf(workspace: WorkspaceId, channel: string): Promise<PayoutChannel | undefined>
  /** A null workspace selects any workspace, for operators. */
  maskedAccountOf(workspace: WorkspaceId | null, channel: string): Promise<string | undefined>
  /** Channels of all workspaces that wait for verification. `since` is the creation of the oldest one. */
  countUnverified(): Promise<{ waiting: number; since: Instant | null }>
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
  /** Affects only new channels of a recovered account. */
  suspend(tx: Tx, account: RecoveredAccount): Promise<number>
}

export function createWithdrawalChannels(ports: ChannelsPorts & { words: Words }): WithdrawalChannels {
  return {
    handlers: createHandlers(ports),
    events: [channelEvents(ports.words)],
    maskedAccountOf: async (workspace, channel) => {
      const id = bizId<'withdrawalChannel'>(channel)
      const found = workspace === null ? readAnyChannel(ports.database, id) : readChannel(ports.database, id, workspace)
      return (await found)?.maskedAccount
    },
    channelOf: (workspace, id) => findPayoutChannel(ports, { workspace, channel: bizId<'withdrawalChannel'>(id) }),
    countUnverified: () => countUnverified(ports.database),
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
    withdrawalChannels: Pick<WithdrawalChannels, 'channelOf' | 'countUnverified' | 'maskedAccountOf'>
  }
}

const settings = z.strictObject({
  maxChannelsPerWorkspace: positive.describe(
    'Maximum number of payout accounts per workspace, including those that wait for verification. Adding a further account gets 409.',
  ),
  networks: networksSetting,
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
  defaults: { maxChannelsPerWorkspace: 100, networks: defaultNetworks },
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
  create: ({ use, accounts, sessions, settings: { maxChannelsPerWorkspace, networks }, ...ports }) => {
    const { memberships, notices } = use('members')
    const { handlers, events, clean, suspend, ...service } = createWithdrawalChannels({
      ...ports,
      members: memberships,
      notices,
      assertSessionOpen: sessions.assertOpen,
      networks,
      maxPerWorkspace: maxChannelsPerWorkspace,
      suspendYoungerThanMs: accounts.suspicionWindowMs,
    })
    return { handlers, events, service, onSandboxReset: clean, onAccountRecovered: suspend }
  },
})
