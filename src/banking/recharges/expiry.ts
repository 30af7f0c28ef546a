import { minutes, untilNotFull, type WorkspaceId } from '../../kernel/index.ts'
import { expireOrders, expiryBatchSize, type Ledger } from '../../ledger/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { recharges } from './contract.ts'

/** Reads show an expired recharge as such before the job has recorded it. */
export const expiryIntervalMs = minutes(1)

type ExpiryPorts = { ledger: Ledger }

/** Ends one batch of expired recharges and returns the number found. A null workspace selects all workspaces. */
export function expireRecharges(
  { ledger }: ExpiryPorts,
  run: { workspace: WorkspaceId | null; requestId: string; signal?: AbortSignal },
): Promise<number> {
  return expireOrders(ledger, recharges, run)
}

export function runExpiryJob(ports: ExpiryPorts, { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>): Promise<void> {
  return untilNotFull(expiryBatchSize, signal, () =>
    expireRecharges(ports, { workspace: null, requestId: jobId, signal }),
  )
}
