import type { DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  type Clock,
  conflict,
  invalid,
  notFound,
  type OrderId,
  Refusal,
  type StreamReply,
  toIso,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type CommandContext,
  chargeParties,
  commandOrigin,
  dailyLimits,
  expiredAt,
  type Ledger,
  type ListedOrder,
  type Order,
  type OrderMove,
  type PostingCommand,
  rechargeExpiry,
} from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type Blobs, type Downloadable, type DownloadRequest, download } from '../../platform/blobs/index.ts'
import { expireRecharges, withExpiry } from './expiry.ts'
import {
  cancellationMove,
  confirmationMove,
  creditedWallet,
  newRecharge,
  proofMove,
  rechargeEntries,
  rejectionMove,
  toRecharge,
  usageOf,
} from './order.ts'
import { type Channels, computeTerms, type RechargeInput, type RechargeTerms } from './rules.ts'
import { isProofInUse, isReferenceUsed } from './store.ts'

export interface RechargesPorts {
  /** Whether a confirmation must name the payment's external reference. */
  referenceRequired: boolean
  ledger: Ledger
  clock: Clock
  channels: Channels
  /** Time to pay or to submit a proof. */
  lifeMs: number
  database: Database
  transaction: DomainPorts['transaction']
  blobs: Blobs
  fileOf(workspace: WorkspaceId, file: string): Promise<Downloadable | undefined>
  keepAsProof(tx: Tx, workspace: WorkspaceId, file: string): Promise<Downloadable | undefined>
  isProof(file: Downloadable): boolean
}

const readTerms = async (
  { ledger, channels }: RechargesPorts,
  input: RechargeInput,
  workspace: WorkspaceId,
): Promise<RechargeTerms> => {
  const wallet = assertFound(await ledger.readWallet({ wallet: input.wallet, workspace }), 'unknown wallet')
  return computeTerms(input, wallet, channels)
}

/** Throws the refusal that creating the recharge would throw. Does not count towards the daily limit. */
export const quoteRecharge = async (
  ports: RechargesPorts,
  input: RechargeInput,
  { workspace, actor, requestId }: { workspace: WorkspaceId; actor: AccountId; requestId: string },
): Promise<RechargeTerms> => {
  const terms = await readTerms(ports, input, workspace)
  const { amount, channel } = terms
  const sum = { workspace, actor, currency: amount.currency, at: ports.clock.now() }
  const limits = dailyLimits(channel.tariff, { usageOf: usageOf(channel.settings.channelCode), amount })
  const exceedsLimit = async () => {
    for (const { of, usageOf: name, max } of limits) {
      const used = await ports.ledger.readUsage({ ...sum, of, usageOf: name })
      if (max !== null && used.minor + amount.minor > max) return true
    }
    return false
  }
  const freesUsage = async () => (await expireRecharges(ports, { workspace, requestId })) > 0
  if ((await exceedsLimit()) && (!(await freesUsage()) || (await exceedsLimit())))
    throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'daily limit' })
  return terms
}

/** The ledger checks no other limit. */
const isDailyLimit = (error: unknown): boolean => error instanceof Refusal && error.code === 'WALLET.LIMIT_EXCEEDED'

const openOrder = async (
  ports: RechargesPorts,
  input: RechargeInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => {
  const { workspace, audit } = context
  const terms = await readTerms(ports, input, workspace)
  const expiresAt = toIso(addMs(ports.clock.now(), ports.lifeMs))
  const execute = () =>
    ports.ledger.execute({
      ...commandOrigin(context),
      parties: [creditedWallet(terms.wallet, terms.amount.currency, workspace)],
      create: newRecharge(terms, workspace, expiresAt),
    })
  try {
    return await execute()
  } catch (error) {
    // An expired recharge counts towards the daily limit until its expiry is recorded.
    if (isDailyLimit(error) && (await expireRecharges(ports, { workspace, requestId: audit.requestId })) > 0)
      return execute()
    throw error
  }
}

/** Posts nothing until an operator confirms the payment. */
export const createRecharge = (
  ports: RechargesPorts,
  input: RechargeInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => openOrder(ports, input, context))

interface RechargeScope {
  id: OrderId
  /** Null selects any workspace. */
  workspace: WorkspaceId | null
}

/** Applies the expiry. */
export const readRecharge = async (ports: RechargesPorts, scope: RechargeScope): Promise<ListedOrder> =>
  withExpiry(await ports.ledger.readOrder({ ...scope, type: 'RECHARGE' }), ports.clock.now())

/** Returns errors other than a used proof or reference unchanged. */
const toConflict = (error: unknown): unknown => {
  const inUse = (field: string, internal: string) => new Refusal('STATE.CONFLICT', { field, internal, cause: error })
  if (isProofInUse(error)) return inUse('fileBizId', 'another recharge of the workspace has the same proof')
  if (isReferenceUsed(error)) return inUse('externalReference', 'another recharge of the channel has the reference')
  return error
}

type Change = Omit<PostingCommand, 'actor' | 'idempotency' | 'audit'> & {
  move: OrderMove
  /** Runs first, in the transaction of the change. */
  prepare?(tx: Tx): Promise<void>
}

const executeChange = (
  { transaction, ledger }: RechargesPorts,
  { prepare, ...change }: Change,
  context: CommandContext,
): Promise<Order> => {
  const command = { ...commandOrigin(context), ...change }
  if (!prepare) return ledger.execute(command)
  return transaction(async (tx) => {
    await prepare(tx)
    return ledger.within(tx).execute(command)
  })
}

/** Refuses an expired recharge. */
const changeRecharge = (
  ports: RechargesPorts,
  id: OrderId,
  context: CommandContext,
  toChange: (order: Order) => Change | Promise<Change>,
): Promise<Order> =>
  ports.ledger.replayOnRefusal(context.key, async () => {
    const order = await ports.ledger.readOrder({ id, type: 'RECHARGE', workspace: context.workspace })
    if (expiredAt(order, rechargeExpiry, ports.clock.now()) !== null) throw conflict('the recharge has expired')
    try {
      return await executeChange(ports, await toChange(order), context)
    } catch (error) {
      throw toConflict(error)
    }
  })

export const cancelRecharge = (
  ports: RechargesPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<WorkspaceId>,
): Promise<Order> =>
  changeRecharge(ports, id, context, () => ({ parties: [], move: cancellationMove(id, context.workspace, reason) }))

export const submitRechargeProof = (
  ports: RechargesPorts,
  { id, file }: { id: OrderId; file: string },
  context: CommandContext<WorkspaceId>,
): Promise<Order> =>
  changeRecharge(ports, id, context, async () => {
    const proof = assertFound(await ports.fileOf(context.workspace, file), 'unknown file')
    if (!ports.isProof(proof)) throw invalid('fileBizId', 'not a valid type or size for a proof')
    return {
      parties: [],
      move: proofMove(id, context.workspace, { file, sha256: proof.sha256 }),
      prepare: async (tx) => {
        if (!(await ports.keepAsProof(tx, context.workspace, file))) throw notFound('the file was deleted')
      },
    }
  })

/** A reference confirms one recharge of a channel. */
export const confirmRecharge = (
  ports: RechargesPorts,
  { id, externalReference }: { id: OrderId; externalReference: string | null },
  context: CommandContext<null>,
): Promise<Order> =>
  changeRecharge(ports, id, context, (order) => {
    if (ports.referenceRequired && externalReference === null) throw invalid('externalReference', 'required')
    const recharge = toRecharge(order)
    const wallet = creditedWallet(recharge.wallet, recharge.amount.currency, order.workspaceBizId)
    return {
      parties: [wallet, ...chargeParties(recharge)],
      move: confirmationMove(id, recharge, externalReference),
      entries: rechargeEntries(recharge),
    }
  })

export const rejectRecharge = (
  ports: RechargesPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => changeRecharge(ports, id, context, () => ({ parties: [], move: rejectionMove(id, reason) }))

/** Records the download in the audit log. */
export const downloadRechargeProof = async (
  ports: RechargesPorts,
  { id, request }: { id: OrderId; request: DownloadRequest },
  auditContext: AuditContext,
): Promise<StreamReply> => {
  const order = await readRecharge(ports, { id, workspace: null })
  const { proofFileBizId } = toRecharge(order).details
  const file = proofFileBizId === null ? undefined : await ports.fileOf(order.workspaceBizId, proofFileBizId)
  if (!file) throw notFound('the recharge has no proof, or its file is not available')
  if (!request.headOnly)
    await ports.transaction((tx) =>
      recordSuccess(tx, auditContext, { workspaceId: order.workspaceBizId, targetId: id }),
    )
  return download(ports.blobs, file, request)
}
