import { sql } from 'kysely'
import { type Database, moment, readPage, type Tx } from '../../database/index.ts'
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

/** What is told of a channel; its account stays sealed. */
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

/** What waits or is in use. Literals, since an index is found by its predicate: a plan that is kept knows no parameters. */
const open = [sql.lit<ChannelStatus>('PENDING_VERIFICATION'), sql.lit<ChannelStatus>('ACTIVE')]

export const countOpenChannels = async (tx: Tx, workspace: WorkspaceId): Promise<number> => {
  const { total } = await tx
    .selectFrom('withdrawal_channels')
    .where('workspace_biz_id', '=', workspace)
    .where('channel_status', 'in', open)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** False where the workspace has named the same account before, and that channel waits or is in use. */
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

const matching = (database: Database, { channelStatus, channelType, currency }: ChannelFilter) => {
  let found = database.selectFrom('withdrawal_channels')
  if (channelStatus !== undefined) found = found.where('channel_status', '=', channelStatus)
  if (channelType !== undefined) found = found.where('channel_type', '=', channelType)
  if (currency !== undefined) found = found.where('currency', '=', currency)
  return found
}

export const listChannels = (database: Database, workspace: WorkspaceId, filter: ChannelFilter): Promise<Channel[]> =>
  matching(database, filter)
    .where('workspace_biz_id', '=', workspace)
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('biz_id', 'desc')
    .execute()

export interface ChannelQuery extends ChannelFilter, PageRequest {
  /** Absent: every workspace's. */
  workspace?: WorkspaceId | undefined
  workspaceKind?: WorkspaceKind | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

export type ListedChannel = Channel & { workspaceKind: WorkspaceKind }

const kindOfWorkspace = sql<WorkspaceKind>`(SELECT workspace_kind FROM workspaces w
  WHERE w.biz_id = withdrawal_channels.workspace_biz_id)`

/** Over every workspace: for operators. */
export const pageChannels = (database: Database, query: ChannelQuery): Promise<Page<ListedChannel>> => {
  const { workspace, workspaceKind, from, to, sortBy, sortOrder } = query
  let found = matching(database, query)
  if (workspace !== undefined) found = found.where('workspace_biz_id', '=', workspace)
  if (workspaceKind !== undefined) found = found.where(kindOfWorkspace, '=', workspaceKind)
  if (from !== undefined) found = found.where('created_at', '>=', moment(from))
  if (to !== undefined) found = found.where('created_at', '<=', moment(to))
  const ordered = found
    .select(columns)
    .select(kindOfWorkspace.as('workspaceKind'))
    .orderBy(sortBy === 'createdAt' ? 'created_at' : 'updated_at', sortOrder)
    .orderBy('biz_id', sortOrder)
  return readPage(found, ordered, query)
}

/** Undefined for an unknown channel and for another workspace's alike. */
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

/** For a sandbox that is emptied: its orders stay, and name channels that are gone. */
export const deleteChannelsOf = async (tx: Tx, workspace: WorkspaceId): Promise<void> => {
  await tx.deleteFrom('withdrawal_channels').where('workspace_biz_id', '=', workspace).execute()
}

/** Any workspace's, for an operator's decision; nobody else changes it until the transaction ends. */
export const lockChannel = (tx: Tx, channel: ChannelId): Promise<Channel | undefined> =>
  tx.selectFrom('withdrawal_channels').where('biz_id', '=', channel).select(columns).forUpdate().executeTakeFirst()

export const moveChannel = (
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
