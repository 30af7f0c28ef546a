import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  /** `triangle` is null without three currencies that have rates. */
  readGains(): Promise<{ triangle: number | null; unquotedPairs: number }>
  clock: Clock
  onFault(error: unknown): void
}

/** Above zero, the house loses if customers exchange through three currencies. */
export function createExchangeMetrics(registry: Registry, { readGains, ...ports }: Ports): void {
  const collect = pollForGauge(ports, async () => {
    const gains = await readGains()
    gauge.set(gains.triangle ?? -1)
    unquoted.set(gains.unquotedPairs)
  })
  const unquoted = new Gauge({
    name: 'portico_exchange_unquoted_pairs',
    aggregator: 'max',
    help: 'Number of currency pairs that are not quoted, because customers would gain in a cycle of rates',
    registers: [registry],
    collect,
  })
  const gauge = new Gauge({
    name: 'portico_exchange_triangle_gain',
    aggregator: 'max',
    help: 'Largest gain of exchanging through three currencies at the current rates, as a share, after spread and fee',
    registers: [registry],
    collect,
  })
}
