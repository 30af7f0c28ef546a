import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../kernel/index.ts'
import { pollForGauge } from './polled-gauge.ts'

interface Ports {
  count(): Promise<{ waiting: number; byStatus: ReadonlyMap<string, number> }>
  /** Calls the listener with the outcome of each attempt. */
  observe(listener: (outcome: string) => void): void
  clock: Clock
  onFault(error: unknown): void
}

const outcomes = ['delivered', 'retried', 'failed', 'withheld']
const statuses = ['ACTIVE', 'DISABLED', 'FAILED', 'SUSPENDED']

export function createWebhookMetrics(registry: Registry, { count, observe, ...ports }: Ports): void {
  const registers = [registry]
  const attempts = new Counter({
    name: 'portico_webhook_attempts_total',
    help: 'Attempts to deliver an event, by outcome',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of outcomes) attempts.inc({ outcome }, 0)
  observe((outcome) => attempts.inc({ outcome }))
  const collect = pollForGauge(ports, async () => {
    const counts = await count()
    waiting.set(counts.waiting)
    for (const status of statuses) webhooks.set({ status }, counts.byStatus.get(status) ?? 0)
  })
  const webhooks = new Gauge({
    name: 'portico_webhooks',
    aggregator: 'max',
    help: 'Webhooks by status, without deleted ones',
    labelNames: ['status'],
    registers,
    collect,
  })
  const waiting = new Gauge({
    name: 'portico_webhook_deliveries_waiting',
    aggregator: 'max',
    help: 'Deliveries of events that wait for their next attempt',
    registers,
    collect,
  })
}
