import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  /** Returns the number of API keys by the number of days within which they end. */
  count(): Promise<ReadonlyMap<number, number>>
  clock: Clock
  onFault(error: unknown): void
}

export function createApiKeyMetrics(registry: Registry, { count, ...ports }: Ports): void {
  const gauge = new Gauge({
    name: 'portico_api_keys_expiring',
    aggregator: 'max',
    help: 'Active API keys that expire within a number of days',
    labelNames: ['days'],
    registers: [registry],
    collect: pollForGauge(ports, async () => {
      for (const [days, keys] of await count()) gauge.set({ days }, keys)
    }),
  })
}
