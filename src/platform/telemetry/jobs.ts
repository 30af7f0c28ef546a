import { Counter, type Registry } from 'prom-client'

/** Work in the background that failed: no answer tells of it. Kinds are known beforehand, so that each is there from the start. */
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
