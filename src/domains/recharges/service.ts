import { type Database, inTransaction } from '../../database/index.ts'
import {
  add,
  addMs,
  type Clock,
  compare,
  invalid,
  notFound,
  type OrderId,
  Refusal,
  type RequestContext,
  type StreamReply,
  toIso,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type CommandContext,
  chargeParties,
  commandOrigin,
  expiredAt,
  type Ledger,
  type ListedOrder,
  type Order,
  type OrderMove,
  type PostingCommand,
  rechargeExpiry,
} from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type Blobs, type Downloadable, download } from '../../platform/blobs/index.ts'
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
} from './order.ts'
import { type Channels, computeTerms, type RechargeInput, type RechargeTerms } from './rules.ts'

export interface RechargesPorts {
  ledger: Ledger
  clock: Clock
  channels: Channels
  /** Time to pay or submit a proof, after which a recharge expires. */
  lifeMs: number
  database: Database
  blobs: Blobs
  /** Returns an available file, or undefined if it does not exist in the workspace. */
  fileOf(workspace: WorkspaceId, file: string): Promise<Downloadable | undefined>
  /** Whether a file's type and size are those of a proof. */
  isProof(file: Downloadable): boolean
}

const readTerms = async (
  { ledger, channels }: RechargesPorts,
  input: RechargeInput,
  workspace: WorkspaceId,
): Promise<RechargeTerms> => {
  const wallet = await ledger.readWallet({ wallet: input.wallet, workspace })
  if (!wallet) throw notFound('unknown wallet')
  return computeTerms(input, wallet, channels)
}

/**
 * Returns the terms of a recharge, or throws the refusal that creating it would get. Does not count towards the daily
 * limit.
 */
export const quoteRecharge = async (
  ports: RechargesPorts,
  input: RechargeInput,
  { workspace, requestId }: { workspace: WorkspaceId; requestId: string },
): Promise<RechargeTerms> => {
  const terms = await readTerms(ports, input, workspace)
  const { amount, channel } = terms
  const usageOf = channel.settings.channelCode
  const counter = { workspace, type: 'RECHARGE', usageOf, currency: amount.currency, at: ports.clock.now() } as const
  const limit = channel.tariff.dailyMaximum
  const exceedsLimit = async () =>
    limit !== null && compare(add(await ports.ledger.readDailyUsage(counter), amount), limit) > 0
  const freesUsage = async () => (await expireRecharges(ports, { workspace, requestId })) > 0
  if ((await exceedsLimit()) && (!(await freesUsage()) || (await exceedsLimit())))
    throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'daily limit' })
  return terms
}

/** Whether a refusal means the daily limit, which is the only limit that the ledger itself checks. */
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
    // Expired recharges count toward the daily limit until their expiry is recorded.
    if (isDailyLimit(error) && (await expireRecharges(ports, { workspace, requestId: audit.requestId })) > 0)
      return execute()
    throw error
  }
}

/** Announces a payment. Posts nothing until an operator confirms it. */
export const createRecharge = (
  ports: RechargesPorts,
  input: RechargeInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => openOrder(ports, input, context))

interface RechargeScope {
  id: OrderId
  /** Null selects a recharge of any workspace. */
  workspace: WorkspaceId | null
}

/** Returns a recharge with its expiry applied. */
export const readRecharge = async (ports: RechargesPorts, scope: RechargeScope): Promise<ListedOrder> =>
  withExpiry(await ports.ledger.readOrder({ ...scope, type: 'RECHARGE' }), ports.clock.now())

type Change = Omit<PostingCommand, 'actor' | 'idempotency' | 'audit'> & { move: OrderMove }

/** Changes a recharge that has not expired. */
const changeRecharge = (
  ports: RechargesPorts,
  id: OrderId,
  context: CommandContext,
  toChange: (order: Order) => Change | Promise<Change>,
): Promise<Order> =>
  ports.ledger.replayOnRefusal(context.key, async () => {
    const order = await ports.ledger.readOrder({ id, type: 'RECHARGE', workspace: context.workspace })
    if (expiredAt(order, rechargeExpiry, ports.clock.now()) !== null)
      throw new Refusal('STATE.CONFLICT', { internal: 'the recharge has expired' })
    return ports.ledger.execute({ ...commandOrigin(context), ...(await toChange(order)) })
  })

/** Cancels an unpaid recharge. */
export const cancelRecharge = (
  ports: RechargesPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<WorkspaceId>,
): Promise<Order> =>
  changeRecharge(ports, id, context, () => ({ parties: [], move: cancellationMove(id, context.workspace, reason) }))

/** Submits an uploaded file as the proof of payment. */
export const submitRechargeProof = (
  ports: RechargesPorts,
  { id, file }: { id: OrderId; file: string },
  context: CommandContext<WorkspaceId>,
): Promise<Order> =>
  changeRecharge(ports, id, context, async () => {
    const proof = await ports.fileOf(context.workspace, file)
    if (!proof) throw notFound('unknown file')
    if (!ports.isProof(proof)) throw invalid('fileBizId', 'not a valid type or size for a proof')
    return { parties: [], move: proofMove(id, context.workspace, file) }
  })

/** Confirms that the payment has arrived and credits the wallet. */
export const confirmRecharge = (
  ports: RechargesPorts,
  { id }: { id: OrderId },
  context: CommandContext<null>,
): Promise<Order> =>
  changeRecharge(ports, id, context, (order) => {
    const recharge = toRecharge(order)
    const wallet = creditedWallet(recharge.wallet, recharge.amount.currency, order.workspaceBizId)
    return {
      parties: [wallet, ...chargeParties(recharge)],
      move: confirmationMove(id, recharge),
      entries: rechargeEntries(recharge),
    }
  })

/** Rejects a recharge with an invalid proof. */
export const rejectRecharge = (
  ports: RechargesPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => changeRecharge(ports, id, context, () => ({ parties: [], move: rejectionMove(id, reason) }))

/** Returns the file of a recharge's proof to an operator, and records the download in the audit log. */
export const downloadRechargeProof = async (
  ports: RechargesPorts,
  { id, request }: { id: OrderId; request: Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange' | 'headOnly'> },
  auditContext: AuditContext,
): Promise<StreamReply> => {
  const order = await readRecharge(ports, { id, workspace: null })
  const { proofFileBizId } = toRecharge(order).details
  const file = proofFileBizId === null ? undefined : await ports.fileOf(order.workspaceBizId, proofFileBizId)
  if (!file) throw notFound('the recharge has no proof, or its file is not available')
  if (!request.headOnly)
    await inTransaction(ports.database, (tx) =>
      recordSuccess(tx, auditContext, { workspaceId: order.workspaceBizId, targetId: id }),
    )
  return download(ports.blobs, file, request)
}
