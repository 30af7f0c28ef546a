import type { Clock } from '../kernel/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import type { Discrepancy } from './integrity-store.ts'
import type { Ledger } from './ledger.ts'

interface LedgerCheckPorts {
  ledger: Pick<Ledger, 'recordCheck'>
  /** Reads the whole ledger and returns the first violated invariant, or null. Aborting the signal stops the check. */
  verifyLedger(signal: AbortSignal): Promise<Discrepancy | null>
  clock: Clock
  everyMs: number
  onBroken(broken: Discrepancy): void
}

/**
 * Returns the job that checks the ledger. The job runs on one replica at a time. If a check fails with an error, the
 * stored result of the previous check remains.
 */
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

/**
 * Returns the job that deletes the stored results of requests in batches. A result is deleted a day after the request
 * was executed.
 */
export const resultCleanupJob = (ledger: Pick<Ledger, 'deleteExpiredResults'>, everyMs: number): JobKind => ({
  name: 'ledger.deleteExpiredResults',
  attempts: 1,
  everyMs,
  work: async (_payload, { signal }) => {
    for (let deleted = batchSize; deleted === batchSize && !signal.aborted; )
      deleted = await ledger.deleteExpiredResults(batchSize)
  },
})
