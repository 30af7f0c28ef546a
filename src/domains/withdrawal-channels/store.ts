import { sql } from 'kysely'
import { type Database, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type BizId,
  type Instant,
  type Page,
  type PageRequest,
  toDate,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'

import type { ChannelStatus, ChannelType } from './rules.ts'

export type ChannelId = BizId<'withdrawalChannel'>

/** A channel without its encrypted account number. */
export interface Channel {
  bizId: ChannelId
  workspaceBizId: WorkspaceId
  channelType: ChannelType
  currency: string
  country: string
  accountHolderName: string
  maskedAccount: string
  bankCode: string | null
  network: string | null
  channelStatus: ChannelStatus
  rejectReason: string | null
  createdBy: AccountId
  createdAt: Instant
  updatedAt: Instant
}

const columns = [
  'biz_id as bizId',
  'workspace_biz_id as workspaceBizId',
  'channel_type as channelType',
  'currency',
  'country',
  'account_holder_name as accountHolderName',
  'masked_account as maskedAccount',
  'bank_code as bankCode',
  'network',
  'channel_status as channelStatus',
  'reject_reason as rejectReason',
  'created_by as createdBy',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const

/**
 * The statuses of pending and active channels. They are literals, so that a cached query plan uses the partial index.
 */
const open = [sql.lit<ChannelStatus>('PENDING_VERIFICATION'), sql.lit<ChannelStatus>('ACTIVE')]

/** Returns the number of pending and active channels of a workspace. */
export const countOpenChannels = async (tx: Tx, workspace: WorkspaceId): Promise<number> => {
  const { total } = await tx
    .selectFrom('withdrawal_channels')
    .where('workspace_biz_id', '=', workspace)
    .where('channel_status', 'in', open)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** Returns false if the workspace already has a pending or active channel with the same account. */
export const insertChannel = async (
  tx: Tx,
  channel: Channel,
  account: { sealed: Uint8Array; digest: Uint8Array },
): Promise<boolean> => {
  const { numInsertedOrUpdatedRows: inserted } = await tx
    .insertInto('withdrawal_channels')
    .values({
      biz_id: channel.bizId,
      workspace_biz_id: channel.workspaceBizId,
      channel_type: channel.channelType,
      currency: channel.currency,
      country: channel.country,
      account_holder_name: channel.accountHolderName,
      masked_account: channel.maskedAccount,
      account_sealed: account.sealed,
      account_digest: account.digest,
      bank_code: channel.bankCode,
      network: channel.network,
      channel_status: channel.channelStatus,
      reject_reason: channel.rejectReason,
      created_by: channel.createdBy,
      created_at: toDate(channel.createdAt),
      updated_at: toDate(channel.updatedAt),
    })
    .onConflict((conflict) =>
      conflict.columns(['workspace_biz_id', 'account_digest']).where('channel_status', 'in', open).doNothing(),
    )
    .executeTakeFirst()
  return inserted === 1n
}

export interface ChannelFilter {
  channelStatus?: ChannelStatus | undefined
  channelType?: ChannelType | undefined
  currency?: string | undefined
}

const matchingChannels = (database: Database, { channelStatus, channelType, currency }: ChannelFilter) => {
  let found = database.selectFrom('withdrawal_channels')
  if (channelStatus !== undefined) found = found.where('channel_status', '=', channelStatus)
  if (channelType !== undefined) found = found.where('channel_type', '=', channelType)
  if (currency !== undefined) found = found.where('currency', '=', currency)
  return found
}

/** Returns a workspace's channels, newest first. */
export const listChannels = (database: Database, workspace: WorkspaceId, filter: ChannelFilter): Promise<Channel[]> =>
  matchingChannels(database, filter)
    .where('workspace_biz_id', '=', workspace)
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('biz_id', 'desc')
    .execute()

export interface ChannelQuery extends ChannelFilter, PageRequest {
  /** If absent, channels of every workspace. */
  workspace?: WorkspaceId | undefined
  workspaceKind?: WorkspaceKind | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

export type ListedChannel = Channel & { workspaceKind: WorkspaceKind }

const workspaceKindOfChannel = sql<WorkspaceKind>`(SELECT workspace_kind FROM workspaces w
  WHERE w.biz_id = withdrawal_channels.workspace_biz_id)`

/** Returns one page of the channels of all workspaces, for operators. */
export const listAllChannels = (database: Database, query: ChannelQuery): Promise<Page<ListedChannel>> => {
  const { workspace, workspaceKind, from, to, sortBy, sortOrder } = query
  let found = matchingChannels(database, query)
  if (workspace !== undefined) found = found.where('workspace_biz_id', '=', workspace)
  if (workspaceKind !== undefined) found = found.where(workspaceKindOfChannel, '=', workspaceKind)
  if (from !== undefined) found = found.where('created_at', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('created_at', '<=', timestamptz(to))
  const ordered = found
    .select(columns)
    .select(workspaceKindOfChannel.as('workspaceKind'))
    .orderBy(sortBy === 'createdAt' ? 'created_at' : 'updated_at', sortOrder)
    .orderBy('biz_id', sortOrder)
  return readPage(found, ordered, query)
}

/** Returns the channel, or undefined if it does not exist in the workspace. */
export const readChannel = (
  database: Database,
  channel: ChannelId,
  workspace: WorkspaceId,
): Promise<Channel | undefined> =>
  database
    .selectFrom('withdrawal_channels')
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', channel)
    .select(columns)
    .executeTakeFirst()

/** Deletes the channels of a sandbox. Its orders stay and refer to deleted channels. */
export const deleteChannels = async (tx: Tx, workspace: WorkspaceId): Promise<void> => {
  await tx.deleteFrom('withdrawal_channels').where('workspace_biz_id', '=', workspace).execute()
}

/** Returns a channel of any workspace and locks it until the transaction ends. */
export const lockChannel = (tx: Tx, channel: ChannelId): Promise<Channel | undefined> =>
  tx.selectFrom('withdrawal_channels').where('biz_id', '=', channel).select(columns).forUpdate().executeTakeFirst()

/** Sets the status of a channel. */
export const setChannelStatus = (
  tx: Tx,
  { bizId, workspaceBizId }: Channel,
  to: { status: ChannelStatus; rejectReason: string | null; at: Instant },
): Promise<Channel> =>
  tx
    .updateTable('withdrawal_channels')
    .set({ channel_status: to.status, reject_reason: to.rejectReason, updated_at: toDate(to.at) })
    .where('workspace_biz_id', '=', workspaceBizId)
    .where('biz_id', '=', bizId)
    .returning(columns)
    .executeTakeFirstOrThrow()
