import type { Clock } from '../kernel/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import type { Discrepancy } from './integrity-store.ts'
import type { Ledger } from './ledger.ts'

interface LedgerCheckPorts {
  ledger: Pick<Ledger, 'recordCheck'>
  /** Reads the whole ledger. Stops on the signal. */
  verifyLedger(signal: AbortSignal): Promise<Discrepancy | null>
  clock: Clock
  everyMs: number
  onBroken(broken: Discrepancy): void
}

/** The job that verifies the ledger once for all replicas. If a check fails to run, the last result remains. */
export const ledgerCheckJob = ({ ledger, verifyLedger, clock, everyMs, onBroken }: LedgerCheckPorts): JobKind => ({
  name: 'ledger.check',
  attempts: 1,
  everyMs,
  work: async (_payload, { signal }) => {
    const at = clock.now()
    const broken = await verifyLedger(signal)
    if (broken) onBroken(broken)
    await ledger.recordCheck({ at, broken })
  },
})

const batchSize = 10_000

/** The job that deletes stored results of requests a day after their execution, in batches. */
export const resultCleanupJob = (ledger: Pick<Ledger, 'deleteExpiredResults'>, everyMs: number): JobKind => ({
  name: 'ledger.deleteExpiredResults',
  attempts: 1,
  everyMs,
  work: async (_payload, { signal }) => {
    for (let deleted = batchSize; deleted === batchSize && !signal.aborted; )
      deleted = await ledger.deleteExpiredResults(batchSize)
  },
})
