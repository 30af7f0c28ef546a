import { Counter, collectDefaultMetrics, Registry } from 'prom-client'
import { createBatchedHistogram } from './batched-histogram.ts'

export interface Metrics {
  /** Starts timing a request. Call the result with the outcome; it records it and returns the duration in milliseconds. */
  startRequest(): (outcome: { operation: string; status: number; code: string | null }) => number
  /** The Prometheus text exposition and its content type. */
  expose(): Promise<{ contentType: string; text: string }>
  registry: Registry
}

/** Creates the registry with request durations by operation and status, refusals by code, and process metrics. */
export const createMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'portico_' })
  const durations = createBatchedHistogram({
    name: 'portico_request_duration_seconds',
    help: 'Time from the first stage to the answer, by operation and status',
    labels: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registry,
  })
  const refusals = new Counter({
    name: 'portico_refusals_total',
    help: 'Refused requests by code',
    labelNames: ['operation', 'code'],
    registers: [registry],
  })
  return {
    startRequest: () => {
      const start = performance.now()
      return ({ operation, status, code }) => {
        const ms = performance.now() - start
        durations.observe(operation, String(status), ms / 1000)
        if (code !== null) refusals.inc({ operation, code })
        return ms
      }
    },
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    registry,
  }
}
