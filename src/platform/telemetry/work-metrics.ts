import { Counter, Gauge, type Registry } from 'prom-client'

/** Work that nobody waits for and that was not done: no answer tells of it. It is asked for when the metrics are. */
export const createBackgroundMetrics = (registry: Registry, givenUp: () => number): void => {
  new Counter({
    name: 'portico_background_given_up_total',
    help: 'Work in the background that was given up',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(givenUp())
    },
  })
}

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

/** How many wait in each of the lines that bound what is costly; each is asked when the metrics are. */
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
