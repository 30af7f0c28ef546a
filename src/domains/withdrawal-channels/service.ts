import { z } from 'zod'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type Clock,
  type Ids,
  invalid,
  notFound,
  Refusal,
  toInstant,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { CommandContext, Ledger } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { KeyedDigest, SecretBox } from '../../platform/crypto/index.ts'
import { withdrawalChannelStatus } from './contract.ts'
import {
  type ChannelStatus,
  type ChannelType,
  canonicalizeAccount,
  maskAccount,
  statusAfterRejection,
} from './rules.ts'
import {
  type Channel,
  type ChannelId,
  countOpenChannels,
  insertChannel,
  lockChannel,
  setChannelStatus,
} from './store.ts'

export interface ChannelsPorts {
  database: Database
  /** The ledger stores the results of requests and checks the four-eyes rule. */
  ledger: Ledger
  clock: Clock
  ids: Ids
  secretBox: SecretBox
  digest: KeyedDigest
  /** Whether a country has this ISO 3166 alpha-2 code. */
  isCountry(alpha2: string): boolean
  /** Locks the workspace and refuses if the caller has lost a permission since `access` was read. */
  members: { assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown> }
  /** Maximum number of pending and active channels per workspace. */
  maxPerWorkspace: number
}

export interface ChannelInput {
  channelType: ChannelType
  currency: string
  country: string
  accountHolderName: string
  accountNumber: string
  bankCode: string | null
  network: string | null
}

/** The context of a command that creates a channel: the request, the caller's access, and the audit entry. */
export interface ChannelContext {
  command: CommandContext<WorkspaceId>
  access: WorkspaceAccess
  auditContext: AuditContext
}

const newChannel = (ports: ChannelsPorts, input: ChannelInput, context: CommandContext<WorkspaceId>): Channel => {
  const at = ports.clock.now()
  const { accountNumber, ...fields } = input
  return {
    ...fields,
    bizId: ports.ids.next<'withdrawalChannel'>(),
    workspaceBizId: context.workspace,
    maskedAccount: maskAccount(canonicalizeAccount(input.channelType, accountNumber)),
    channelStatus: 'PENDING_VERIFICATION',
    rejectReason: null,
    createdBy: context.actor,
    createdAt: at,
    updatedAt: at,
  }
}

const insertNewChannel = async (
  ports: ChannelsPorts,
  tx: Tx,
  input: ChannelInput,
  context: CommandContext<WorkspaceId>,
): Promise<Channel> => {
  const channel = newChannel(ports, input, context)
  const { channelType, currency, accountNumber } = input
  const bank = input.bankCode ?? input.network ?? ''
  const canonical = canonicalizeAccount(channelType, accountNumber)
  const account = {
    sealed: ports.secretBox.seal('withdrawal-account', channel.bizId, Buffer.from(accountNumber)),
    digest: ports.digest('withdrawal-account', channelType, currency, bank, canonical),
  }
  if (!(await insertChannel(tx, channel, account)))
    throw new Refusal('STATE.CONFLICT', { internal: 'the workspace already has this account' })
  return channel
}

/**
 * Returns the idempotency key with a keyed hash of the body. From a plain hash, an attacker could guess the account
 * number.
 */
const idempotencyKey = (
  { digest }: ChannelsPorts,
  { key }: CommandContext<WorkspaceId>,
): CommandContext<WorkspaceId>['key'] => ({
  ...key,
  bodyHash: Buffer.from(digest('withdrawal-channel-request', key.bodyHash)).toString('hex'),
})

const idOf = <Kind extends string>() => z.string().transform((text) => bizId<Kind>(text))
const instant = z.number().transform(toInstant)

/** Parses the stored result of a request. */
const storedChannel: z.ZodType<Channel> = z.object({
  bizId: idOf<'withdrawalChannel'>(),
  workspaceBizId: idOf<'workspace'>(),
  channelType: z.enum(['BANK', 'CRYPTO']),
  currency: z.string(),
  country: z.string(),
  accountHolderName: z.string(),
  maskedAccount: z.string(),
  bankCode: z.string().nullable(),
  network: z.string().nullable(),
  channelStatus: z.enum(withdrawalChannelStatus.codes),
  rejectReason: z.string().nullable(),
  createdBy: idOf<'account'>(),
  createdAt: instant,
  updatedAt: instant,
})

/** Registers an account for payouts. An operator must verify it before use. Idempotent by the request's key. */
export const createChannel = async (
  ports: ChannelsPorts,
  input: ChannelInput,
  { command, access: by, auditContext }: ChannelContext,
): Promise<Channel> => {
  if (!ports.isCountry(input.country)) throw invalid('country')
  return inTransaction(ports.database, async (tx) => {
    const ledger = ports.ledger.within(tx)
    const key = idempotencyKey(ports, command)
    const stored = await ledger.findStoredResult(key)
    if (stored) return storedChannel.parse(stored.result)
    await ports.members.assertAccess(tx, command.actor, by)
    if ((await countOpenChannels(tx, command.workspace)) >= ports.maxPerWorkspace)
      throw new Refusal('STATE.CONFLICT', { internal: 'the workspace has the maximum number of withdrawal channels' })
    const channel = await insertNewChannel(ports, tx, input, command)
    await recordSuccess(tx, auditContext, { workspaceId: command.workspace, targetId: channel.bizId })
    await ledger.storeResult(key, channel)
    return channel
  })
}

type Decision = (status: ChannelStatus) => { status: ChannelStatus; rejectReason: string | null } | undefined

/** Changes the status of a channel that another person created. Throws STATE.CONFLICT if `decide` returns undefined. */
const decideOnChannel = (
  { database, ledger }: ChannelsPorts,
  id: ChannelId,
  auditContext: AuditContext,
  decide: Decision,
): Promise<Channel> =>
  inTransaction(database, async (tx) => {
    const channel = await lockChannel(tx, id)
    if (!channel) throw notFound('no such withdrawal channel')
    await ledger.within(tx).assertDifferentPerson(channel.createdBy, auditContext.accountId)
    const to = decide(channel.channelStatus)
    if (!to) throw new Refusal('STATE.CONFLICT', { internal: `the channel is ${channel.channelStatus}` })
    await recordSuccess(tx, auditContext, {
      workspaceId: channel.workspaceBizId,
      targetId: id,
      detail: { status: to.status },
    })
    return setChannelStatus(tx, channel, { ...to, at: auditContext.at })
  })

/** Makes a pending channel active. */
export const verifyChannel = (
  ports: ChannelsPorts,
  { id }: { id: ChannelId },
  auditContext: AuditContext,
): Promise<Channel> =>
  decideOnChannel(ports, id, auditContext, (status) =>
    status === 'PENDING_VERIFICATION' ? { status: 'ACTIVE', rejectReason: null } : undefined,
  )

/** Rejects a pending channel, or disables an active one. The channel then gets no further payouts. */
export const rejectChannel = (
  ports: ChannelsPorts,
  { id, reason }: { id: ChannelId; reason: string },
  auditContext: AuditContext,
): Promise<Channel> =>
  decideOnChannel(ports, id, auditContext, (status) => {
    const to = statusAfterRejection(status)
    return to && { status: to, rejectReason: reason }
  })
