import { Gauge, type Registry } from 'prom-client'

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
