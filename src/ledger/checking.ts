import type { Clock } from '../kernel/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import type { Ledger } from './index.ts'
import type { Discrepancy } from './invariants.ts'

interface Ports {
  ledger: Pick<Ledger, 'keepCheck'>
  /** May take as long as the book is big; ends with the signal. */
  verifyBook(signal: AbortSignal): Promise<Discrepancy | null>
  clock: Clock
  everyMs: number
  onBroken(broken: Discrepancy): void
}

/**
 * The job that checks the book, for every replica: it reads all of it. A check that cannot be made says nothing of the
 * book and leaves the last one's finding as it is.
 */
export const checkingBook = ({ ledger, verifyBook, clock, everyMs, onBroken }: Ports): JobKind => ({
  name: 'ledger.check',
  attempts: 1,
  everyMs,
  work: async (_payload, { signal }) => {
    const at = clock.now()
    const broken = await verifyBook(signal)
    if (broken) onBroken(broken)
    await ledger.keepCheck({ at, broken })
  },
})
