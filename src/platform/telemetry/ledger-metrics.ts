import { Gauge, type Registry } from 'prom-client'

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
