import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNotices } from '../../api/notices.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  type Clock,
  conflict,
  notFound,
  Refusal,
  type StreamReply,
  toIso,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type CommandContext,
  dailyLimits,
  type IdempotencyKey,
  type Ledger,
  type Opening,
  type Order,
} from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type Blobs, type Downloadable, type DownloadRequest, download } from '../../platform/blobs/index.ts'
import { recharges } from './contract.ts'
import { expireRecharges } from './expiry.ts'
import { aboutReceived, newRecharge, referenceData, toRecharge, usageOf } from './order.ts'
import { type Channels, computeTerms, type RechargeInput, type RechargeTerms } from './rules.ts'
import { insertAllowance, isAllowedByActor, isProofInUse, isReferenceUsed, readReferenceUse } from './store.ts'

const { confirm, confirmExpired } = recharges.moves
const confirmable: readonly string[] = [...confirm.from, ...confirmExpired.from]

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
  once: DomainPorts['once']
  notices: OwnerNotices
  blobs: Blobs
  fileOf(workspace: WorkspaceId, file: string): Promise<Downloadable | undefined>
  keepAsProof(tx: Tx, workspace: WorkspaceId, file: string): Promise<Downloadable | undefined>
  isProof(file: Downloadable): boolean
}

/** Throws the refusal that creating the recharge would throw. Does not count towards the daily limit. */
export async function quoteRecharge(
  ports: RechargesPorts,
  input: RechargeInput,
  { workspace, actor, requestId }: { workspace: WorkspaceId; actor: AccountId; requestId: string },
): Promise<RechargeTerms> {
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

/** Frees the amounts of expired recharges, which count towards the daily limit until their expiry is recorded. */
export async function openRecharge(
  ports: RechargesPorts,
  input: RechargeInput,
  { workspace, audit: { requestId } }: CommandContext<WorkspaceId>,
  open: (opening: Opening) => Promise<Order>,
): Promise<Order> {
  const terms = await readTerms(ports, input, workspace)
  const opening = newRecharge(terms, workspace, toIso(addMs(ports.clock.now(), ports.lifeMs)))
  try {
    return await open(opening)
  } catch (error) {
    if (isDailyLimit(error) && (await expireRecharges(ports, { workspace, requestId })) > 0) return open(opening)
    throw error
  }
}

/** Executes within `transaction` after the file is kept. Turns a proof that is used twice into a refusal. */
export function withProof({ transaction, ledger, keepAsProof }: RechargesPorts, workspace: WorkspaceId, file: string) {
  return async (execute: (ledger: Ledger) => Promise<Order>): Promise<Order> => {
    try {
      return await transaction(async (tx) => {
        if (!(await keepAsProof(tx, workspace, file))) throw notFound('the file was deleted')
        return execute(ledger.within(tx))
      })
    } catch (error) {
      throw toConflict(error)
    }
  }
}

/**
 * A reference confirms one recharge of a channel. With the key of the request, also informs the owners of a payment that
 * differs from its recharge, in the same transaction. A repeated request informs nobody again.
 */
export function withReference({ ledger, transaction, notices }: RechargesPorts, informs: IdempotencyKey | null) {
  return async (execute: (ledger: Ledger) => Promise<Order>): Promise<Order> => {
    try {
      if (informs === null) return await execute(ledger)
      return await transaction(async (tx) => {
        const within = ledger.within(tx)
        const isRepeated = (await within.findStoredResult(informs)) !== undefined
        const order = await execute(within)
        const { workspaceBizId: workspaceId, updatedAt: at } = order
        const notice = {
          kind: 'RECHARGE_CORRECTED',
          workspaceId,
          actorId: null,
          about: aboutReceived(order),
          at,
        } as const
        if (!isRepeated) await notices.queue(tx, notice)
        return order
      })
    } catch (error) {
      throw toConflict(error)
    }
  }
}

/**
 * Lets the recharge use a reference that another one has used. The database spends the allowance when another person
 * confirms. Throws ACCESS.PERMISSION_DENIED for the creator of the recharge and the members of its workspace, and
 * STATE.CONFLICT if the recharge and an earlier one can be the same payment.
 */
export async function allowReference(
  ports: RechargesPorts,
  tx: Tx,
  order: Order,
  { externalReference, reason }: { externalReference: string; reason: string },
  auditContext: AuditContext,
): Promise<void> {
  const { accountId: actorId } = auditContext
  const ledger = ports.ledger.within(tx)
  if (order.createdBy !== null) await ledger.assertDifferentPerson(order.createdBy, actorId)
  await ledger.assertOutsider(order.workspaceBizId, actorId)
  const { referenceKey: reference } = referenceData(externalReference)
  if (!confirmable.includes(order.status)) throw conflict(`the recharge is ${order.status}`)
  const use = await readReferenceUse(tx, order, reference)
  if (!use?.isUsed) throw inUse('externalReference', 'no recharge of the channel has used the reference')
  if (use.isPaid) throw inUse('externalReference', 'a recharge of the same workspace, day and amount has used it')
  const ids = { workspaceBizId: order.workspaceBizId, orderBizId: order.bizId, allowedBy: actorId }
  if (!(await insertAllowance(tx, { ...ids, reference, externalReference, reason }, auditContext.at)))
    throw inUse('externalReference', 'the recharge has an allowance for it')
  await recordSuccess(tx, auditContext, {
    workspaceId: order.workspaceBizId,
    targetId: order.bizId,
    detail: { externalReference, statedReason: reason },
  })
}

/** Records the download in the audit log. */
export async function downloadRechargeProof(
  ports: RechargesPorts,
  order: Order,
  request: DownloadRequest,
  auditContext: AuditContext,
): Promise<StreamReply> {
  const { proofFileBizId } = toRecharge(order).details
  const file = proofFileBizId === null ? undefined : await ports.fileOf(order.workspaceBizId, proofFileBizId)
  if (!file) throw notFound('the recharge has no proof, or its file is not available')
  if (!request.headOnly)
    await ports.transaction((tx) =>
      recordSuccess(tx, auditContext, { workspaceId: order.workspaceBizId, targetId: order.bizId }),
    )
  return download(ports.blobs, file, request)
}

async function readTerms(
  { ledger, channels }: RechargesPorts,
  input: RechargeInput,
  workspace: WorkspaceId,
): Promise<RechargeTerms> {
  const wallet = assertFound(await ledger.readWallet({ wallet: input.wallet, workspace }), 'unknown wallet')
  return computeTerms(input, wallet, channels)
}

/** The ledger checks no other limit. */
function isDailyLimit(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'WALLET.LIMIT_EXCEEDED'
}

/** Returns errors other than a used proof or reference unchanged. */
function toConflict(error: unknown): unknown {
  if (isProofInUse(error)) return inUse('fileBizId', 'another recharge of the workspace has the same proof', error)
  if (isReferenceUsed(error))
    return inUse('externalReference', 'another recharge of the channel has the reference', error)
  if (isAllowedByActor(error))
    return new Refusal('ACCESS.PERMISSION_DENIED', {
      internal: 'separation of duties: the same person allowed the reference',
      cause: error,
    })
  return error
}

function inUse(field: string, internal: string, cause?: unknown): Refusal {
  return new Refusal('STATE.CONFLICT', { field, internal, cause })
}
