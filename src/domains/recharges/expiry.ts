import { type Clock, Refusal, type WorkspaceId } from '../../kernel/index.ts'
import { type Ledger, rechargeRunsOut } from '../../ledger/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { expiry } from './commands.ts'

export const expiryJob = 'recharges.expire'

interface Ports {
  ledger: Ledger
  clock: Clock
}

const most = 200

/**
 * Ends what was not paid in time, the oldest first and no more than a number at once; says how many there were. One that
 * somebody has moved meanwhile is left as it stands. A workspace of null reaches every one's.
 */
export const endRunOut = async (
  { ledger, clock }: Ports,
  { workspace, requestId, signal }: { workspace: WorkspaceId | null; requestId: string; signal?: AbortSignal },
): Promise<number> => {
  const audit = { portal: 'SYSTEM', action: expiryJob, requestId, clientIp: '' } as const
  const due = { type: 'RECHARGE', status: rechargeRunsOut.from, workspace, most } as const
  const orders = await ledger.listDueOrders({ ...due, at: clock.now() })
  for (const id of orders) {
    if (signal?.aborted) break
    try {
      await ledger.execute({ actor: null, audit, parties: [], move: expiry(id) })
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'STATE.CONFLICT') throw error
    }
  }
  return orders.length
}

/** The job: all of it, of every workspace. */
export const expire = async (ports: Ports, { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>): Promise<void> => {
  const everyones = { workspace: null, requestId: jobId, signal }
  for (let found = most; found === most && !signal.aborted; ) found = await endRunOut(ports, everyones)
}
