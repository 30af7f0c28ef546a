import type { Database } from '../../database/index.ts'
import { addMs, type Clock } from '../../kernel/index.ts'
import { type Lease, renewLease } from './store.ts'

/**
 * Renews a lease three times per lease duration until stopped. Calls `onLost` once another replica has taken the job, or
 * the lease has expired because the database was unavailable.
 */
export const startLeaseRenewal = (
  { database, clock, leaseMs }: { database: Database; clock: Clock; leaseMs: number },
  lease: Lease,
  onLost: (reason: Error) => void,
): { stop(): Promise<void> } => {
  let until = addMs(clock.now(), leaseMs)
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    const next = addMs(clock.now(), leaseMs)
    try {
      if (await renewLease(database, lease, next)) until = next
      else onLost(new Error('the lease was lost'))
    } catch (cause) {
      // The lease is still valid until it expires.
      if (clock.now() >= until) onLost(new Error('the lease could not be prolonged', { cause }))
    }
  }
  const timer = setInterval(() => {
    renewing = renewing.then(renew)
  }, leaseMs / 3)
  return {
    stop: async () => {
      clearInterval(timer)
      await renewing
    },
  }
}
