import type { Database } from '../../database/index.ts'
import { type Clock, plus } from '../../kernel/index.ts'
import { type Lease, renewLease } from './store.ts'

/**
 * Prolongs a lease three times in its span for as long as the work goes on. Once it is lost, or could not be prolonged
 * within its span, the work is told to stop.
 */
export const startLeaseRenewal = (
  { database, clock, leaseMs }: { database: Database; clock: Clock; leaseMs: number },
  lease: Lease,
  lost: (reason: Error) => void,
): { stop(): Promise<void> } => {
  let until = plus(clock.now(), leaseMs)
  let beating: Promise<void> = Promise.resolve()
  const beat = async (): Promise<void> => {
    const next = plus(clock.now(), leaseMs)
    try {
      if (await renewLease(database, lease, next)) until = next
      else lost(new Error('the lease was lost'))
    } catch (cause) {
      // It is still ours for the rest of its span, and not for longer.
      if (clock.now() >= until) lost(new Error('the lease could not be prolonged', { cause }))
    }
  }
  const timer = setInterval(() => {
    beating = beating.then(beat)
  }, leaseMs / 3)
  return {
    stop: async () => {
      clearInterval(timer)
      await beating
    },
  }
}
