import { addMs, areWithin, type Clock, type Instant, minutes, untilNotFull } from '../kernel/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import type { Discrepancy, LastCheck } from './integrity-store.ts'
import type { Ledger } from './ledger.ts'

interface LedgerCheckPorts {
  ledger: Pick<Ledger, 'recordCheck' | 'readLastCheck'>
  /** Checks the whole ledger if `since` is null. Aborting the signal stops the check. */
  verifyLedger(signal: AbortSignal, since: Instant | null): Promise<Discrepancy | null>
  clock: Clock
  everyMs: number
  wholeEveryMs: number
  onBroken(broken: Discrepancy): void
}

/** A transaction can commit this much later than the time of its rows, and clocks of replicas differ. */
const overlapMs = 600_000

/**
 * Checks what changed since the last check, and from time to time the whole ledger. If a check fails with an error, the
 * previous result remains.
 */
export function ledgerCheckJob(ports: LedgerCheckPorts): JobKind {
  return {
    name: 'ledger.check',
    attempts: 1,
    everyMs: ports.everyMs,
    work: async (_payload, { signal }) => {
      const { ledger } = ports
      const at = ports.clock.now()
      const since = firstUnverified(await ledger.readLastCheck(), at, ports.wholeEveryMs)
      const broken = await ports.verifyLedger(signal, since)
      if (broken) ports.onBroken(broken)
      await ledger.recordCheck({ at, broken, isWhole: since === null })
    },
  }
}

const batchSize = 10_000

/** The rows of a minute fit in few batches. */
const cleanupEveryMs = minutes(1)

export function cleanupJobs(ledger: Pick<Ledger, 'deleteExpiredResults' | 'deleteExpiredUsage'>): JobKind[] {
  return [
    cleanupJob('ledger.deleteExpiredResults', (limit) => ledger.deleteExpiredResults(limit)),
    cleanupJob('ledger.deleteExpiredUsage', (limit) => ledger.deleteExpiredUsage(limit)),
  ]
}

function firstUnverified(last: LastCheck | undefined, at: Instant, wholeEveryMs: number): Instant | null {
  if (!last?.verifiedAt || !last.wholeVerifiedAt || last.broken) return null
  if (!areWithin(wholeEveryMs, last.wholeVerifiedAt, at)) return null
  return addMs(last.verifiedAt < at ? last.verifiedAt : at, -overlapMs)
}

/** Deletes in batches until a batch is not full. */
function cleanupJob(name: string, deleteBatch: (limit: number) => Promise<number>): JobKind {
  return {
    name,
    attempts: 1,
    everyMs: cleanupEveryMs,
    work: (_payload, { signal }) => untilNotFull(batchSize, signal, deleteBatch),
  }
}
