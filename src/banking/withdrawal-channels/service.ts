import { isDeepStrictEqual as isDeepEqual } from 'node:util'
import { z } from 'zod'
import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNoticeKind, OwnerNotices } from '../../api/notices.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  bizId,
  type Caller,
  type Clock,
  conflict,
  type Ids,
  type Instant,
  invalid,
  notFound,
  type Permission,
  type RecoveredAccount,
  Refusal,
  toInstant,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import type { CommandContext, Ledger } from '../../ledger/index.ts'
import { type AuditContext, recordRefusal, recordSuccess } from '../../platform/audit/index.ts'
import type { KeyedDigest, SecretBox } from '../../platform/crypto/index.ts'
import { withdrawalChannelStatus } from './contract.ts'
import type { Network } from './networks.ts'
import {
  type AccountFields,
  type ChannelStatus,
  identifyAccount,
  type PayoutAccount,
  statusAfterRejection,
} from './rules.ts'
import {
  type Channel,
  type ChannelId,
  insertChannel,
  lockChannel,
  type PayoutChannelRow,
  readChannel,
  readOpenAccounts,
  readPayoutChannel,
  readSealedChannel,
  restoreChannel,
  type SealedAccount,
  setChannelStatus,
  suspendChannelsOf,
} from './store.ts'

export interface ChannelsPorts {
  database: Database
  transaction: DomainPorts['transaction']
  /** Stores the results of requests and checks the four-eyes rule. */
  ledger: Ledger
  clock: Clock
  ids: Ids
  secretBox: SecretBox
  digest: KeyedDigest
  isCountry(alpha2: string): boolean
  members: {
    /** Locks the workspace. Throws ACCESS.PERMISSION_DENIED if the caller has just lost a permission. */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<{ kind: WorkspaceKind }>
    /** Throws ACCESS.PAYOUT_HOLD if the member gained the permission recently. */
    assertNotHeld(
      tx: Tx,
      member: { accountId: AccountId; workspaceId: WorkspaceId },
      permissions: readonly Permission[],
      at: Instant,
    ): Promise<void>
    /** Throws ACCESS.PERMISSION_DENIED if the member's own permissions are from an account that was recovered. */
    assertMayRestore(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  }
  /** Locks the caller's account. Throws ACCESS.TOKEN_INVALID if the caller's session has ended. */
  assertSessionOpen(tx: Tx, caller: Caller): Promise<void>
  notices: OwnerNotices
  networks: readonly Network[]
  /** Counts pending, active and suspended channels. */
  maxPerWorkspace: number
  /** Maximum age of a channel that the recovery of its creator's account suspends. */
  suspendYoungerThanMs: number
}

export interface ChannelInput extends AccountFields {
  country: string
  accountHolderName: string
}

export interface ChannelContext {
  command: CommandContext<WorkspaceId>
  caller: Caller
  access: WorkspaceAccess
  auditContext: AuditContext
}

const instant = z.number().transform(toInstant)

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
  verifiedBy: idOf<'account'>().nullable(),
  createdAt: instant,
  updatedAt: instant,
})

/** An operator must verify the account before use. Idempotent by the request's key. */
export async function createChannel(
  ports: ChannelsPorts,
  input: ChannelInput,
  { command, caller, access: by, auditContext }: ChannelContext,
): Promise<Channel> {
  if (!ports.isCountry(input.country)) throw invalid('country')
  return ports.transaction(async (tx) => {
    const ledger = ports.ledger.within(tx)
    const keys = idempotencyKeys(ports, command)
    const stored = await findStored(ledger, keys)
    if (stored) return storedChannel.parse(stored.result)
    const { kind } = await ports.members.assertAccess(tx, command.actor, by)
    await ports.assertSessionOpen(tx, caller)
    const account = validAccount(ports, input, kind)
    const member = { accountId: command.actor, workspaceId: command.workspace }
    await ports.members.assertNotHeld(tx, member, ['withdrawal-channel:manage'], command.receivedAt)
    const known = await readOpenAccounts(tx, command.workspace)
    if (known.length >= ports.maxPerWorkspace)
      throw conflict('the workspace has the maximum number of withdrawal channels')
    if (known.some((row) => isDeepEqual(openAccount(ports, row).parts, account.parts))) throw duplicate()
    const channel = await insertNewChannel(ports, tx, { ...input, network: account.network }, account, command)
    await recordSuccess(tx, auditContext, { workspaceId: command.workspace, targetId: channel.bizId })
    await ports.notices.queue(tx, {
      ...noticeOf('CHANNEL_CREATED', channel),
      actorId: command.actor,
      at: auditContext.at,
    })
    await ledger.storeResult(keys[0], channel)
    return channel
  })
}

export interface PayoutChannel extends Pick<PayoutChannelRow, 'channelType' | 'channelStatus' | 'currency'> {
  /** The accounts that created and verified the channel. */
  actors: readonly AccountId[]
  /** Equal for the same account in all workspaces. */
  accountDigest: string
}

/**
 * Returns undefined if the channel does not exist in the workspace. The digest is computed from the number, because that
 * of the row can be older than a rule or a secret key.
 */
export async function findPayoutChannel(
  ports: ChannelsPorts,
  { workspace, channel: id }: { workspace: WorkspaceId; channel: ChannelId },
): Promise<PayoutChannel | undefined> {
  const channel = await readPayoutChannel(ports.database, id, workspace)
  if (!channel) return undefined
  const { channelType, channelStatus, currency, createdBy, verifiedBy } = channel
  // While a key is rotated, all replicas have the oldest key.
  const digest = ports.digest.candidates('withdrawal-account', ...openAccount(ports, channel).parts).at(-1)
  return {
    ...{ channelType, channelStatus, currency },
    accountDigest: Buffer.from(digest ?? []).toString('hex'),
    actors: verifiedBy === null ? [createdBy] : [createdBy, verifiedBy],
  }
}

/** Suspended channels get no payouts. */
export function suspendChannels(
  { suspendYoungerThanMs }: Pick<ChannelsPorts, 'suspendYoungerThanMs'>,
  tx: Tx,
  { accountId, at }: RecoveredAccount,
): Promise<number> {
  return suspendChannelsOf(tx, accountId, { createdAfter: addMs(at, -suspendYoungerThanMs), at })
}

/** Throws ACCESS.PAYOUT_HOLD for a recently gained permission, and STATE.CONFLICT if the channel is not suspended. */
export function reactivateChannel(
  { transaction, members, assertSessionOpen }: ChannelsPorts,
  { id }: { id: ChannelId },
  { caller, access, auditContext }: Omit<ChannelContext, 'command'>,
): Promise<Channel> {
  return transaction(async (tx) => {
    const scope = { workspace: access.id, channel: id }
    await members.assertAccess(tx, auditContext.accountId, access)
    await assertSessionOpen(tx, caller)
    const member = { accountId: auditContext.accountId, workspaceId: access.id }
    await members.assertNotHeld(tx, member, ['withdrawal-channel:manage'], auditContext.at)
    await members.assertMayRestore(tx, auditContext.accountId, access.id)
    const restored = await restoreChannel(tx, scope, { enabledBy: auditContext.accountId, at: auditContext.at })
    if (!restored) {
      const channel = assertFound(await readChannel(tx, id, access.id), 'no such withdrawal channel in this workspace')
      throw conflict(`the channel is ${channel.channelStatus}`)
    }
    const detail = { status: restored.channelStatus }
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: id, detail })
    return restored
  })
}

export function verifyChannel(
  ports: ChannelsPorts,
  { id }: { id: ChannelId },
  auditContext: AuditContext,
): Promise<Channel> {
  return decideOnChannel(ports, id, auditContext, (status) =>
    status === 'PENDING_VERIFICATION' ? { status: 'ACTIVE', rejectReason: null } : undefined,
  )
}

/** Disables an active or suspended channel, which then gets no further payouts. */
export function rejectChannel(
  ports: ChannelsPorts,
  { id, reason }: { id: ChannelId; reason: string },
  auditContext: AuditContext,
): Promise<Channel> {
  return decideOnChannel(ports, id, auditContext, (status) => {
    const to = statusAfterRejection(status)
    return to && { status: to, rejectReason: reason }
  })
}

export type RevealedChannel = Channel & { accountNumber: string }

/**
 * The audit log records the reason, even if the request is refused. The entry is stored before the number is returned.
 */
export async function revealChannel(
  { database, transaction, secretBox }: ChannelsPorts,
  { id, reason }: { id: ChannelId; reason: string },
  auditContext: AuditContext,
): Promise<RevealedChannel> {
  const found = await readSealedChannel(database, id)
  if (!found) {
    const detail = { reason: 'RESOURCE.NOT_FOUND', statedReason: reason }
    await recordRefusal(database, auditContext, { workspaceId: null, targetId: id, detail })
    throw notFound('no such withdrawal channel')
  }
  const { accountSealed, ...channel } = found
  const accountNumber = Buffer.from(secretBox.open('withdrawal-account', id, accountSealed)).toString()
  await transaction((tx) =>
    recordSuccess(tx, auditContext, {
      workspaceId: channel.workspaceBizId,
      targetId: id,
      detail: { statedReason: reason },
    }),
  )
  return { ...channel, accountNumber }
}

function idOf<Kind extends string>() {
  return z.string().transform((text) => bizId<Kind>(text))
}

function validAccount({ networks }: ChannelsPorts, input: ChannelInput, kind: WorkspaceKind): PayoutAccount {
  const account = identifyAccount(networks, input, kind)
  const [fault] = account.faults
  if (!fault) return account
  const internal = `${fault.name}: ${fault.reason}`
  throw new Refusal('VALIDATION.INVALID_PARAMETER', { field: fault.name, internal, fields: account.faults })
}

function openAccount({ networks, secretBox }: ChannelsPorts, { bizId, accountSealed, ...row }: SealedAccount) {
  const accountNumber = Buffer.from(secretBox.open('withdrawal-account', bizId, accountSealed)).toString()
  return identifyAccount(networks, { ...row, accountNumber }, null)
}

function duplicate(): Refusal {
  return conflict('the workspace already has this account', 'accountNumber')
}

type Key = CommandContext<WorkspaceId>['key']

/**
 * Hashes the body with the current and previous secret keys. An attacker could guess the account number from a plain
 * hash.
 */
function idempotencyKeys({ digest }: ChannelsPorts, { key }: CommandContext<WorkspaceId>): [Key, ...Key[]] {
  const keyOf = (bodyDigest: Uint8Array): Key => ({ ...key, bodyHash: Buffer.from(bodyDigest).toString('hex') })
  const [current, ...previous] = digest.candidates('withdrawal-channel-request', key.bodyHash)
  return [keyOf(current), ...previous.map(keyOf)]
}

/** Throws REQUEST.ID_REUSED if no key has the hash of the stored body. */
async function findStored(
  ledger: Pick<Ledger, 'findStoredResult'>,
  [key, ...previous]: readonly [Key, ...Key[]],
): Promise<{ result: unknown } | undefined> {
  try {
    return await ledger.findStoredResult(key)
  } catch (error) {
    const [next, ...rest] = previous
    if (next === undefined || !(error instanceof Refusal && error.code === 'REQUEST.ID_REUSED')) throw error
    return findStored(ledger, [next, ...rest])
  }
}

async function insertNewChannel(
  ports: ChannelsPorts,
  tx: Tx,
  { accountNumber, ...fields }: ChannelInput,
  { parts, masked }: PayoutAccount,
  context: CommandContext<WorkspaceId>,
): Promise<Channel> {
  const at = ports.clock.now()
  const channel: Channel = {
    ...fields,
    bizId: ports.ids.next<'withdrawalChannel'>(),
    workspaceBizId: context.workspace,
    maskedAccount: masked,
    channelStatus: 'PENDING_VERIFICATION',
    rejectReason: null,
    createdBy: context.actor,
    verifiedBy: null,
    createdAt: at,
    updatedAt: at,
  }
  const account = {
    sealed: ports.secretBox.seal('withdrawal-account', channel.bizId, Buffer.from(accountNumber)),
    digest: ports.digest('withdrawal-account', ...parts),
  }
  if (!(await insertChannel(tx, channel, account))) throw duplicate()
  return channel
}

function noticeOf(kind: OwnerNoticeKind, { workspaceBizId, maskedAccount, currency }: Channel) {
  return {
    kind,
    workspaceId: workspaceBizId,
    about: `${maskedAccount} ${currency}`,
  }
}

type Decision = (
  status: ChannelStatus,
) => { status: Exclude<ChannelStatus, 'SUSPENDED'>; rejectReason: string | null } | undefined

/**
 * The operator must not have created the channel, and must not belong to its workspace. Throws STATE.CONFLICT if
 * `decide` returns undefined.
 */
function decideOnChannel(
  { transaction, ledger, notices }: ChannelsPorts,
  id: ChannelId,
  auditContext: AuditContext,
  decide: Decision,
): Promise<Channel> {
  return transaction(async (tx) => {
    const channel = assertFound(await lockChannel(tx, id), 'no such withdrawal channel')
    const within = ledger.within(tx)
    await within.assertDifferentPerson(channel.createdBy, auditContext.accountId)
    await within.assertOutsider(channel.workspaceBizId, auditContext.accountId)
    const to = decide(channel.channelStatus)
    if (!to) throw conflict(`the channel is ${channel.channelStatus}`)
    await recordSuccess(tx, auditContext, {
      workspaceId: channel.workspaceBizId,
      targetId: id,
      detail: { status: to.status },
    })
    const verifiedBy = to.status === 'ACTIVE' ? auditContext.accountId : channel.verifiedBy
    const changed = await setChannelStatus(tx, channel, { ...to, verifiedBy, at: auditContext.at })
    if (to.status === 'ACTIVE')
      await notices.queue(tx, { ...noticeOf('CHANNEL_VERIFIED', channel), actorId: null, at: auditContext.at })
    return changed
  })
}
