import { setTimeout as pause } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'
import { type Clock, type Instant, type Portal, portals } from '../../kernel/index.ts'

/** However often it is scraped, the store is asked no more often than this, and waited for no longer than this. */
const freshMs = 5_000
const timeoutMs = 1_000

interface Ports {
  /** Accounts that wait, by portal; one without any may be left out. */
  count(): Promise<ReadonlyMap<Portal, number>>
  clock: Clock
  onFault(error: unknown): void
}

/** How many accounts wait for an operator's approval: nobody else tells the operators. */
export const createApprovalMetrics = (registry: Registry, { count, clock, onFault }: Ports): void => {
  let askedAt: Instant | null = null
  let asking: Promise<void> | null = null

  const ask = async (): Promise<void> => {
    try {
      const waiting = await count()
      for (const portal of portals) gauge.set({ portal }, waiting.get(portal) ?? 0)
    } catch (error) {
      onFault(error)
    } finally {
      asking = null
    }
  }

  const gauge = new Gauge({
    name: 'portico_accounts_awaiting_approval',
    help: 'Accounts that wait for an operator to approve or reject them, by portal',
    labelNames: ['portal'],
    registers: [registry],
    collect: async () => {
      const now = clock.now()
      if (asking === null && (askedAt === null || Math.abs(now - askedAt) >= freshMs)) {
        askedAt = now
        asking = ask()
      }
      // A store that hangs must not take the other metrics along.
      if (asking !== null) await Promise.race([asking, pause(timeoutMs, undefined, { ref: false })])
    },
  })
}
