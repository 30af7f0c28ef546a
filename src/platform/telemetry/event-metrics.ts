import { Gauge, type Registry } from 'prom-client'
import type { Clock, Instant } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  read(): Promise<{ waiting: number; failed: number; since: Instant | null }>
  clock: Clock
  onFault(error: unknown): void
}

export function createEventMetrics(registry: Registry, { read, clock, onFault }: Ports): void {
  const registers = [registry]
  const collect = pollForGauge({ clock, onFault }, async () => {
    const state = await read()
    waiting.set(state.waiting)
    failed.set(state.failed)
    lag.set(state.since === null ? 0 : Math.max(0, (clock.now() - state.since) / 1_000))
  })
  const failed = new Gauge({
    name: 'portico_events_set_aside',
    aggregator: 'max',
    help: 'Changes that could not become events. They are tried again every ten minutes',
    registers,
    collect,
  })
  const lag = new Gauge({
    name: 'portico_events_lag_seconds',
    aggregator: 'max',
    help: 'Age of the oldest change that no feed shows yet, in seconds. 0 without one',
    registers,
    collect,
  })
  const waiting = new Gauge({
    name: 'portico_events_waiting',
    aggregator: 'max',
    help: 'Changes that no feed shows yet',
    registers,
    collect,
  })
}
