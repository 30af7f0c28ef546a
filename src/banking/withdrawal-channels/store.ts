import { sql } from 'kysely'
import { type Database, isSuspect, readPage, type Tx, timestamptz } from '../../database/index.ts'
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
import { recordAs } from '../../platform/events/index.ts'

import type { ChannelStatus, ChannelType } from './rules.ts'

export type ChannelId = BizId<'withdrawalChannel'>

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
  /** Null until an operator verifies the channel. */
  verifiedBy: AccountId | null
  createdAt: Instant
  updatedAt: Instant
}

const columns = [
  'bizId',
  'workspaceBizId',
  'channelType',
  'currency',
  'country',
  'accountHolderName',
  'maskedAccount',
  'bankCode',
  'network',
  'channelStatus',
  'rejectReason',
  'createdBy',
  'verifiedBy',
  'createdAt',
  'updatedAt',
] as const

/** Returns the channel as a change recorded it. */
export function channelOfRecord(tx: Tx, record: unknown): Promise<Channel> {
  return tx
    .selectFrom(recordAs('withdrawal_channels', record, 'c'))
    .select(columns)
    .executeTakeFirstOrThrow()
}

/** These are literals, so that a cached query plan uses the partial index. */
const open = [
  sql.lit<ChannelStatus>('PENDING_VERIFICATION'),
  sql.lit<ChannelStatus>('ACTIVE'),
  sql.lit<ChannelStatus>('SUSPENDED'),
]

export type SealedAccount = Pick<Channel, 'bizId' | 'channelType' | 'currency' | 'bankCode' | 'network'> & {
  accountSealed: Uint8Array
}

const accountColumns = ['bizId', 'channelType', 'currency', 'bankCode', 'network', 'accountSealed'] as const

export function readOpenAccounts(tx: Tx, workspace: WorkspaceId): Promise<SealedAccount[]> {
  return tx
    .selectFrom('withdrawal_channels')
    .where('workspaceBizId', '=', workspace)
    .where('channelStatus', 'in', open)
    .select(accountColumns)
    .execute()
}

/** Returns false if the workspace has an open channel with the same digest. */
export async function insertChannel(
  tx: Tx,
  channel: Channel,
  account: { sealed: Uint8Array; digest: Uint8Array },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows: inserted } = await tx
    .insertInto('withdrawal_channels')
    .values({
      bizId: channel.bizId,
      workspaceBizId: channel.workspaceBizId,
      channelType: channel.channelType,
      currency: channel.currency,
      country: channel.country,
      accountHolderName: channel.accountHolderName,
      maskedAccount: channel.maskedAccount,
      accountSealed: account.sealed,
      accountDigest: account.digest,
      bankCode: channel.bankCode,
      network: channel.network,
      channelStatus: channel.channelStatus,
      suspendedStatus: null,
      rejectReason: channel.rejectReason,
      createdBy: channel.createdBy,
      verifiedBy: channel.verifiedBy,
      createdAt: toDate(channel.createdAt),
      updatedAt: toDate(channel.updatedAt),
    })
    .onConflict((conflict) =>
      conflict.columns(['workspaceBizId', 'accountDigest']).where('channelStatus', 'in', open).doNothing(),
    )
    .executeTakeFirst()
  return inserted === 1n
}

export interface ChannelFilter {
  channelStatus?: ChannelStatus | undefined
  channelType?: ChannelType | undefined
  currency?: string | undefined
}

export function listChannels(database: Database, workspace: WorkspaceId, filter: ChannelFilter): Promise<Channel[]> {
  return matchingChannels(database, filter)
    .where('workspaceBizId', '=', workspace)
    .select(columns)
    .orderBy('createdAt', 'desc')
    .orderBy('bizId', 'desc')
    .execute()
}

export interface ChannelQuery extends ChannelFilter, PageRequest {
  /** If undefined, selects every workspace. */
  workspace?: WorkspaceId | undefined
  id?: ChannelId | undefined
  workspaceKind?: WorkspaceKind | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

export type ListedChannel = Channel & { workspaceKind: WorkspaceKind }

const workspaceKindOfChannel = sql<WorkspaceKind>`(SELECT workspace_kind FROM workspaces w
  WHERE w.biz_id = withdrawal_channels.workspace_biz_id)`

/** Of all workspaces, for operators. */
export function countUnverified(database: Database): Promise<{ waiting: number; since: Instant | null }> {
  return database
    .selectFrom('withdrawal_channels')
    .where('channelStatus', '=', 'PENDING_VERIFICATION')
    .select([
      (eb) => eb.fn.countAll<number>().as('waiting'),
      (eb) => eb.fn.min<Instant | null>('createdAt').as('since'),
    ])
    .executeTakeFirstOrThrow()
}

/** For operators: covers all workspaces. */
export function listAllChannels(database: Database, query: ChannelQuery): Promise<Page<ListedChannel>> {
  const { workspace, id, workspaceKind, from, to, sortBy, sortOrder } = query
  let found = matchingChannels(database, query)
  if (id !== undefined) found = found.where('bizId', '=', id)
  if (workspace !== undefined) found = found.where('workspaceBizId', '=', workspace)
  if (workspaceKind !== undefined) found = found.where(workspaceKindOfChannel, '=', workspaceKind)
  if (from !== undefined) found = found.where('createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('createdAt', '<=', timestamptz(to))
  const ordered = found
    .select(columns)
    .select(workspaceKindOfChannel.as('workspaceKind'))
    .orderBy(sortBy === 'createdAt' ? 'createdAt' : 'updatedAt', sortOrder)
    .orderBy('bizId', sortOrder)
  return readPage(found, ordered, query)
}

export function readChannel(
  database: Database | Tx,
  channel: ChannelId,
  workspace: WorkspaceId,
): Promise<Channel | undefined> {
  return database
    .selectFrom('withdrawal_channels')
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', channel)
    .select(columns)
    .executeTakeFirst()
}

export type PayoutChannelRow = SealedAccount & Pick<Channel, 'channelStatus' | 'createdBy' | 'verifiedBy'>

export function readPayoutChannel(
  database: Database,
  channel: ChannelId,
  workspace: WorkspaceId,
): Promise<PayoutChannelRow | undefined> {
  return database
    .selectFrom('withdrawal_channels')
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', channel)
    .select(accountColumns)
    .select(['channelStatus', 'createdBy', 'verifiedBy'])
    .executeTakeFirst()
}

/** For operators: the channel can belong to any workspace. */
export function readAnyChannel(database: Database, channel: ChannelId): Promise<Channel | undefined> {
  return database.selectFrom('withdrawal_channels').where('bizId', '=', channel).select(columns).executeTakeFirst()
}
/** The channel can belong to any workspace. */
export function readSealedChannel(
  store: Database | Tx,
  channel: ChannelId,
): Promise<(Channel & { accountSealed: Uint8Array }) | undefined> {
  return store
    .selectFrom('withdrawal_channels')
    .where('bizId', '=', channel)
    .select(columns)
    .select('accountSealed')
    .executeTakeFirst()
}

/** Orders still refer to the deleted channels. */
export async function deleteChannels(tx: Tx, workspace: WorkspaceId): Promise<void> {
  await tx.deleteFrom('withdrawal_channels').where('workspaceBizId', '=', workspace).execute()
}

/** The channel can belong to any workspace. */
export function lockChannel(tx: Tx, channel: ChannelId): Promise<Channel | undefined> {
  return tx
    .selectFrom('withdrawal_channels')
    .where('bizId', '=', channel)
    .select(columns)
    .forUpdate()
    .executeTakeFirst()
}

interface StatusChange {
  status: Exclude<ChannelStatus, 'SUSPENDED'>
  rejectReason: string | null
  verifiedBy: AccountId | null
  at: Instant
}

export function setChannelStatus(tx: Tx, { bizId, workspaceBizId }: Channel, to: StatusChange): Promise<Channel> {
  return tx
    .updateTable('withdrawal_channels')
    .set({
      channelStatus: to.status,
      suspendedStatus: null,
      rejectReason: to.rejectReason,
      verifiedBy: to.verifiedBy,
      updatedAt: toDate(to.at),
    })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/**
 * Covers all workspaces. Suspends what the account created, and what a suspect of the recovery created or reactivated.
 */
export async function suspendChannelsOf(
  tx: Tx,
  creator: AccountId,
  { createdAfter, at }: { createdAfter: Instant; at: Instant },
): Promise<number> {
  const recovery = { accountId: creator, at }
  const suspended = await tx
    .updateTable('withdrawal_channels')
    .set({
      channelStatus: 'SUSPENDED',
      suspendedStatus: sql`channel_status`,
      updatedAt: toDate(at),
    })
    .where(({ or, and, eb }) =>
      or([
        and([eb('createdBy', '=', creator), eb('createdAt', '>', timestamptz(createdAfter))]),
        isSuspect(recovery, 'createdBy', 'createdAt'),
        isSuspect(recovery, 'enabledBy', 'enabledAt'),
      ]),
    )
    .where('channelStatus', 'in', ['PENDING_VERIFICATION', 'ACTIVE'])
    .returning('bizId')
    .execute()
  return suspended.length
}

/** Returns undefined if the channel is not suspended or does not exist. */
export function restoreChannel(
  tx: Tx,
  { workspace, channel }: { workspace: WorkspaceId; channel: ChannelId },
  { enabledBy, at }: { enabledBy: AccountId; at: Instant },
): Promise<Channel | undefined> {
  return tx
    .updateTable('withdrawal_channels')
    .set({
      channelStatus: sql`suspended_status`,
      suspendedStatus: null,
      enabledBy: enabledBy,
      enabledAt: toDate(at),
      updatedAt: toDate(at),
    })
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', channel)
    .where('channelStatus', '=', 'SUSPENDED')
    .returning(columns)
    .executeTakeFirst()
}

function matchingChannels(database: Database, { channelStatus, channelType, currency }: ChannelFilter) {
  let found = database.selectFrom('withdrawal_channels')
  if (channelStatus !== undefined) found = found.where('channelStatus', '=', channelStatus)
  if (channelType !== undefined) found = found.where('channelType', '=', channelType)
  if (currency !== undefined) found = found.where('currency', '=', currency)
  return found
}
