import { Counter, Gauge, type Registry } from 'prom-client'

/** Metrics of the ledger check. */
export interface LedgerMetrics {
  /** Sets the result of a ledger check. `epochMs` is its time in epoch milliseconds. */
  checked(violations: number, epochMs: number): void
}

/** Registers the result of the last ledger check: the violations of the first broken rule, and the time of the check. */
export const createLedgerMetrics = (registry: Registry): LedgerMetrics => {
  const registers = [registry]
  const discrepancies = new Gauge({
    name: 'portico_ledger_discrepancies',
    help: 'Violations of the first broken ledger rule; 0 if the ledger balances',
    registers,
  })
  const checkedAt = new Gauge({
    name: 'portico_ledger_checked_timestamp_seconds',
    help: 'Time of the last ledger check on any replica; 0 before the first check',
    registers,
  })
  return {
    checked: (violations, epochMs) => {
      discrepancies.set(violations)
      checkedAt.set(epochMs / 1_000)
    },
  }
}

/** Registers the number of dropped background tasks, which no response reports. `dropped` is read at each scrape. */
export const createBackgroundMetrics = (registry: Registry, dropped: () => number): void => {
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

/** Registers the number of failed job attempts. Each kind starts with 0, so that alerts can use it from the start. */
export const createJobMetrics = (registry: Registry, kinds: readonly string[]): { failed(kind: string): void } => {
  const failures = new Counter({
    name: 'portico_job_failures_total',
    help: 'Failed job attempts by kind',
    labelNames: ['kind'],
    registers: [registry],
  })
  for (const kind of kinds) failures.inc({ kind }, 0)
  return { failed: (kind) => failures.inc({ kind }) }
}

/** Registers the length of each bounded queue. The lengths are read at each scrape. */
export const createQueueMetrics = (registry: Registry, queues: Readonly<Record<string, () => number>>): void => {
  new Gauge({
    name: 'portico_waiting',
    help: 'Waiting tasks by queue',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      for (const [queue, waiting] of Object.entries(queues)) this.set({ queue }, waiting())
    },
  })
}
