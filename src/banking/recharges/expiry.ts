import { type Clock, type Instant, minutes, Refusal, untilNotFull, type WorkspaceId } from '../../kernel/index.ts'
import { expiredAt, type Ledger, type Order, rechargeExpiry } from '../../ledger/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { expiryMove } from './order.ts'

export const expiryJob = 'recharges.expire'

/** Reads show an expired recharge as such before the job has recorded it. */
export const expiryIntervalMs = minutes(1)

/** After its expiry, the order is EXPIRED, even if the job has not recorded that yet. */
export const withExpiry = <O extends Order>(order: O, now: Instant): O => {
  const at = expiredAt(order, rechargeExpiry, now)
  if (at === null) return order
  const expired = { status: rechargeExpiry.to, at, actorBizId: null, reason: null }
  const before = order.history.filter(({ status }) => status !== expired.status)
  return { ...order, status: expired.status, updatedAt: at, history: [...before, expired] }
}

interface ExpiryPorts {
  ledger: Ledger
  clock: Clock
}

const batchSize = 200

/**
 * Ends one batch, oldest first, and returns the number found. A null workspace selects all workspaces. Skips recharges
 * that another command has changed.
 */
export const expireRecharges = async (
  { ledger, clock }: ExpiryPorts,
  { workspace, requestId, signal }: { workspace: WorkspaceId | null; requestId: string; signal?: AbortSignal },
): Promise<number> => {
  const audit = { portal: 'SYSTEM', action: expiryJob, requestId, clientIp: '' } as const
  const due = { type: 'RECHARGE', status: rechargeExpiry.from, workspace, limit: batchSize } as const
  const orders = await ledger.listDueOrders({ ...due, at: clock.now() })
  for (const id of orders) {
    if (signal?.aborted) break
    try {
      await ledger.execute({ actor: null, audit, parties: [], move: expiryMove(id) })
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'STATE.CONFLICT') throw error
    }
  }
  return orders.length
}

export const runExpiryJob = (
  ports: ExpiryPorts,
  { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>,
): Promise<void> =>
  untilNotFull(batchSize, signal, () => expireRecharges(ports, { workspace: null, requestId: jobId, signal }))
