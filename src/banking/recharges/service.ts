import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNotices } from '../../api/notices.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  type Clock,
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
import { expireRecharges } from './expiry.ts'
import { aboutReceived, newRecharge, toRecharge, usageOf } from './order.ts'
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
  const inUse = (field: string, internal: string) => new Refusal('STATE.CONFLICT', { field, internal, cause: error })
  if (isProofInUse(error)) return inUse('fileBizId', 'another recharge of the workspace has the same proof')
  if (isReferenceUsed(error)) return inUse('externalReference', 'another recharge of the channel has the reference')
  return error
}
