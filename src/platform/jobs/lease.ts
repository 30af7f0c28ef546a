import type { Database } from '../../database/index.ts'
import { addMs, type Clock } from '../../kernel/index.ts'
import { type Lease, prolongLease } from './store.ts'

/**
 * Prolongs a lease three times in its span for as long as the work goes on. Once it is lost, or could not be prolonged
 * within its span, the work is told to stop.
 */
export const keepLease = (
  { database, clock, leaseMs }: { database: Database; clock: Clock; leaseMs: number },
  lease: Lease,
  lost: (reason: Error) => void,
): { stop(): Promise<void> } => {
  let until = addMs(clock.now(), leaseMs)
  let beating: Promise<void> = Promise.resolve()
  const beat = async (): Promise<void> => {
    const next = addMs(clock.now(), leaseMs)
    try {
      if (await prolongLease(database, lease, next)) until = next
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
