import { type Clock, Refusal, type WorkspaceId } from '../../kernel/index.ts'
import { type Ledger, rechargeExpiry } from '../../ledger/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { expiryMove } from './order.ts'

export const expiryJob = 'recharges.expire'

interface ExpiryPorts {
  ledger: Ledger
  clock: Clock
}

const batchSize = 200

/**
 * Ends up to one batch of expired recharges, oldest first, and returns how many it found. A workspace of null selects those of
 * every workspace. Skips orders that have changed in the meantime.
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

/** The job: ends all expired recharges, batch by batch. */
export const runExpiryJob = async (
  ports: ExpiryPorts,
  { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>,
): Promise<void> => {
  for (let found = batchSize; found === batchSize && !signal.aborted; )
    found = await expireRecharges(ports, { workspace: null, requestId: jobId, signal })
}
