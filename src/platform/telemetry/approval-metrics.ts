import { Gauge, type Registry } from 'prom-client'
import { type Clock, type Portal, portals } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  /** Portals without waiting accounts may be missing. */
  count(): Promise<ReadonlyMap<Portal, number>>
  clock: Clock
  onFault(error: unknown): void
}

/** Operators get no other notification. */
export function createApprovalMetrics(registry: Registry, { count, ...ports }: Ports): void {
  const gauge = new Gauge({
    name: 'portico_accounts_awaiting_approval',
    help: 'Accounts that wait for an operator to approve or reject them, by portal',
    labelNames: ['portal'],
    registers: [registry],
    collect: pollForGauge(ports, async () => {
      const waiting = await count()
      for (const portal of portals) gauge.set({ portal }, waiting.get(portal) ?? 0)
    }),
  })
}
