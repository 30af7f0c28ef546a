import { Counter, Gauge, type Registry } from 'prom-client'

/** Registers the result of the last ledger check: the violations of the first broken rule, and the time of the check. */
export const createLedgerMetrics = (registry: Registry) => {
  const registers = [registry]
  const discrepancies = new Gauge({
    name: 'portico_ledger_discrepancies',
    help: 'Violations of the first broken rule of the book; 0 when it adds up',
    registers,
  })
  const checkedAt = new Gauge({
    name: 'portico_ledger_checked_timestamp_seconds',
    help: 'When the book was last checked, by whichever replica; 0 when it was not yet',
    registers,
  })
  return {
    checked: (violations: number, epochMs: number): void => {
      discrepancies.set(violations)
      checkedAt.set(epochMs / 1_000)
    },
  }
}

/** Registers the number of dropped background tasks. No response reports them. `dropped` is read at each scrape. */
export const createBackgroundMetrics = (registry: Registry, dropped: () => number): void => {
  new Counter({
    name: 'portico_background_given_up_total',
    help: 'Work in the background that was given up',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(dropped())
    },
  })
}

/** Registers the number of failed job attempts. Each kind starts with 0, so that alerts can use it from the start. */
export const createJobMetrics = (registry: Registry, kinds: readonly string[]) => {
  const failures = new Counter({
    name: 'portico_job_failures_total',
    help: 'Attempts of jobs that failed, by kind',
    labelNames: ['kind'],
    registers: [registry],
  })
  for (const kind of kinds) failures.inc({ kind }, 0)
  return { failed: (kind: string): void => failures.inc({ kind }) }
}

/** Registers the length of each bounded queue. The lengths are read at each scrape. */
export const createQueueMetrics = (registry: Registry, queues: Readonly<Record<string, () => number>>): void => {
  new Gauge({
    name: 'portico_waiting',
    help: 'Work that waits for its turn, by the line that it stands in',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      for (const [queue, waiting] of Object.entries(queues)) this.set({ queue }, waiting())
    },
  })
}
