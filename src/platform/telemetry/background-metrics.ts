import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock, Instant } from '../../kernel/index.ts'
import type { DropReason } from '../jobs/index.ts'
import { pollForGauge } from './polled-gauge.ts'

export interface LedgerMetrics {
  /** `wholeAt` is the last check of the whole ledger, or null. */
  checked(violations: number, epochMs: number, wholeAt: number | null): void
}

export function createLedgerMetrics(registry: Registry): LedgerMetrics {
  const registers = [registry]
  const discrepancies = new Gauge({
    name: 'portico_ledger_discrepancies',
    aggregator: 'max',
    help: 'Violations of the first broken ledger rule; 0 if the ledger balances',
    registers,
  })
  const checkedAt = new Gauge({
    name: 'portico_ledger_checked_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the last ledger check on any replica; 0 before the first check',
    registers,
  })
  const wholeCheckedAt = new Gauge({
    name: 'portico_ledger_whole_checked_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the last check of the whole ledger on any replica; 0 if the ledger was not consistent since',
    registers,
  })
  return {
    checked: (violations, epochMs, wholeAt) => {
      discrepancies.set(violations)
      checkedAt.set(epochMs / 1_000)
      wholeCheckedAt.set((wholeAt ?? 0) / 1_000)
    },
  }
}

/** No response reports dropped tasks. */
export function createBackgroundMetrics(registry: Registry, dropped: () => number): void {
  new Counter({
    name: 'portico_background_given_up_total',
    help: 'Background tasks dropped',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(dropped())
    },
  })
}

/** Metrics of background jobs. */
export interface JobMetrics {
  failed(kind: string): void
  dropped(kind: string, reason: DropReason): void
}

/** Each series starts with 0, so that alerts work before the first failure. */
export function createJobMetrics(registry: Registry, kinds: readonly string[]): JobMetrics {
  const failures = new Counter({
    name: 'portico_job_failures_total',
    help: 'Failed job attempts by kind',
    labelNames: ['kind'],
    registers: [registry],
  })
  const drops = new Counter({
    name: 'portico_jobs_dropped_total',
    help: 'Jobs that ended without their effect, by kind and reason',
    labelNames: ['kind', 'reason'],
    registers: [registry],
  })
  for (const kind of kinds) {
    failures.inc({ kind }, 0)
    for (const reason of ['limit', 'failed']) drops.inc({ kind, reason }, 0)
  }
  return { failed: (kind) => failures.inc({ kind }), dropped: (kind, reason) => drops.inc({ kind, reason }) }
}

export function createQueueMetrics(registry: Registry, queues: Readonly<Record<string, () => number>>): void {
  new Gauge({
    name: 'portico_waiting',
    aggregator: 'sum',
    help: 'Waiting tasks by queue',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      for (const [queue, waiting] of Object.entries(queues)) this.set({ queue }, waiting())
    },
  })
}

const running = new AsyncLocalStorage<string>()

/** Rejections of `work`, and of all that it starts, are logged with the id. */
export function inOperation<T>(id: string, work: () => T): T {
  return running.run(id, work)
}

/**
 * A promise that a handler of an extension does not await must not end the process. Other errors that nothing handles
 * do: throws them.
 */
export function createRejectionReport(logger: Logger, registry: Registry): (reason: unknown) => void {
  const rejections = new Counter({
    name: 'portico_unhandled_rejections_total',
    help: 'Rejected promises that a handler of an extension did not await',
    registers: [registry],
  })
  return (reason) => {
    const operation = running.getStore()
    if (operation === undefined) throw reason
    rejections.inc()
    logger.error({ operation, err: reason }, 'unhandled rejection')
  }
}

interface AuditExportPorts {
  readLag(): Promise<{ entries: number; oldestAt: Instant | null }>
  clock: Clock
  onFault(error: unknown): void
}

export function createAuditExportMetrics(registry: Registry, { readLag, ...ports }: AuditExportPorts): void {
  const registers = [registry]
  const collect = pollForGauge(ports, async () => {
    const { entries, oldestAt } = await readLag()
    waiting.set(entries)
    seconds.set(oldestAt === null ? 0 : Math.max(0, ports.clock.now() - oldestAt) / 1_000)
  })
  const seconds = new Gauge({
    name: 'portico_audit_export_lag_seconds',
    aggregator: 'max',
    help: 'Age of the oldest sealed audit entry that has not been exported',
    registers,
    collect,
  })
  const waiting = new Gauge({
    name: 'portico_audit_export_lag_entries',
    aggregator: 'max',
    help: 'Sealed audit entries that have not been exported',
    registers,
    collect,
  })
}
