import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export interface Metrics {
  /** Starts a stopwatch for one request; its end is told with what became of it, and answers milliseconds. */
  startRequest(): (outcome: { operation: string; status: number; code: string | null }) => number
  /** The Prometheus text exposition and its content type. */
  expose(): Promise<{ contentType: string; text: string }>
  registry: Registry
}

/** Rate, errors and duration by operation; refusals by code; the process's own figures. */
export const createMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'portico_' })
  const duration = new Histogram({
    name: 'portico_request_duration_seconds',
    help: 'Time from the first stage to the answer, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'portico_refusals_total',
    help: 'Refused requests by code',
    labelNames: ['operation', 'code'],
    registers: [registry],
  })
  // A series is looked up by its labels once; after that it is at hand.
  const durations = new Map<string, { observe(seconds: number): void }>()
  const durationOf = (operation: string, status: number) => {
    const key = `${operation} ${status}`
    const known = durations.get(key)
    if (known) return known
    const series = duration.labels({ operation, status: String(status) })
    durations.set(key, series)
    return series
  }
  return {
    startRequest: () => {
      const start = performance.now()
      return ({ operation, status, code }) => {
        const ms = performance.now() - start
        durationOf(operation, status).observe(ms / 1000)
        if (code !== null) refusals.inc({ operation, code })
        return ms
      }
    },
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    registry,
  }
}
