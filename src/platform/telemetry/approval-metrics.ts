import { setTimeout as pause } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'
import { type Clock, type Instant, type Portal, portals } from '../../kernel/index.ts'

/**
 * Minimum time between two queries, regardless of how often metrics are scraped. It is also the maximum time to wait
 * for a query.
 */
const freshMs = 5_000
const timeoutMs = 1_000

interface Ports {
  /** Returns the number of waiting accounts by portal. Portals without any may be missing. */
  count(): Promise<ReadonlyMap<Portal, number>>
  clock: Clock
  onFault(error: unknown): void
}

/** Registers the number of accounts that wait for an operator's approval. Operators get no other notification. */
export const createApprovalMetrics = (registry: Registry, { count, clock, onFault }: Ports): void => {
  let refreshedAt: Instant | null = null
  let refreshing: Promise<void> | null = null

  const refresh = async (): Promise<void> => {
    try {
      const waiting = await count()
      for (const portal of portals) gauge.set({ portal }, waiting.get(portal) ?? 0)
    } catch (error) {
      onFault(error)
    } finally {
      refreshing = null
    }
  }

  const gauge = new Gauge({
    name: 'portico_accounts_awaiting_approval',
    help: 'Accounts that wait for an operator to approve or reject them, by portal',
    labelNames: ['portal'],
    registers: [registry],
    collect: async () => {
      const now = clock.now()
      if (refreshing === null && (refreshedAt === null || Math.abs(now - refreshedAt) >= freshMs)) {
        refreshedAt = now
        refreshing = refresh()
      }
      // A database that does not respond must not block the other metrics.
      if (refreshing !== null) await Promise.race([refreshing, pause(timeoutMs, undefined, { ref: false })])
    },
  })
}
