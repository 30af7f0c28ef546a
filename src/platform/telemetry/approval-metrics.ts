import { Gauge, type Registry } from 'prom-client'
import type { Clock, Instant, Portal } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  /** Of the configuration. */
  portals: readonly Portal[]
  /** Portals without waiting accounts may be missing. */
  count(): Promise<ReadonlyMap<Portal, { accounts: number; since: Instant }>>
  clock: Clock
  onFault(error: unknown): void
}

/** Operators get no other notification. */
export function createApprovalMetrics(registry: Registry, { count, portals, ...ports }: Ports): void {
  const collect = pollForGauge(ports, async () => {
    const waiting = await count()
    for (const portal of portals) {
      const { accounts = 0, since = ports.clock.now() } = waiting.get(portal) ?? {}
      gauge.set({ portal }, accounts)
      age.set({ portal }, Math.max(0, (ports.clock.now() - since) / 1_000))
    }
  })
  const age = new Gauge({
    name: 'portico_accounts_awaiting_approval_seconds',
    aggregator: 'max',
    help: 'Age of the oldest account that waits for an operator, by portal; 0 without one',
    labelNames: ['portal'],
    registers: [registry],
    collect,
  })
  const gauge = new Gauge({
    name: 'portico_accounts_awaiting_approval',
    aggregator: 'max',
    help: 'Accounts that wait for an operator to approve or reject them, by portal',
    labelNames: ['portal'],
    registers: [registry],
    collect,
  })
}
