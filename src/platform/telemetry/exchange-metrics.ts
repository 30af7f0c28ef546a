import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  /** Null without three currencies that have rates. */
  triangleGain(): Promise<number | null>
  clock: Clock
  onFault(error: unknown): void
}

/** Above zero, the house loses if customers exchange through three currencies. */
export const createExchangeMetrics = (registry: Registry, { triangleGain, ...ports }: Ports): void => {
  const gauge = new Gauge({
    name: 'portico_exchange_triangle_gain',
    help: 'Largest gain of exchanging through three currencies at the current rates, as a share, after spread and fee',
    registers: [registry],
    collect: pollForGauge(ports, async () => {
      gauge.set((await triangleGain()) ?? -1)
    }),
  })
}
