import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { systemClock } from '../runtime/index.ts'

/** By the line of a bucket without its value, such as `x_bucket{le="1",operation="a",status="200"}`. */
export type Exemplars = ReadonlyMap<string, string>

export interface BatchedHistogram {
  /** `traceId` is that of a sampled trace. */
  observe(first: string, second: string, seconds: number, traceId?: string | null | undefined): void
  /** The newest of each bucket. */
  exemplars(): Exemplars
}

interface HistogramOptions {
  name: string
  help: string
  labels: [first: string, second: string]
  /** Upper bounds in seconds. */
  buckets: number[]
  registry: Registry
}

/** Per series. */
const maxPending = 1_000

interface Series {
  observe(seconds: number): void
  pending: number[]
  /** By the upper bound of the bucket. */
  exemplars: Map<number, string>
}

/**
 * Counts observations in batches, at a scrape or once there are 1,000, because prom-client validates and joins the
 * labels for each one.
 */
export function createBatchedHistogram(options: HistogramOptions): BatchedHistogram {
  const { name, help, labels, buckets, registry } = options
  const known = new Map<string, Map<string, Series>>()
  const histogram = new Histogram({
    name,
    help,
    labelNames: labels,
    buckets,
    registers: [registry],
    collect: () => {
      for (const bySecond of known.values()) for (const series of bySecond.values()) flush(series)
    },
  })
  const createSeries = (first: string, second: string): Series => {
    const series = { observe: histogram.labels(first, second).observe, pending: [], exemplars: new Map() }
    const bySecond = known.get(first) ?? new Map<string, Series>()
    known.set(first, bySecond.set(second, series))
    return series
  }
  return {
    observe: (first, second, seconds, traceId) => {
      const series = known.get(first)?.get(second) ?? createSeries(first, second)
      if (traceId) {
        const bound = buckets.find((each) => seconds <= each) ?? Number.POSITIVE_INFINITY
        series.exemplars.set(bound, `{trace_id="${traceId}"} ${seconds} ${systemClock.now() / 1000}`)
      }
      if (series.pending.push(seconds) >= maxPending) flush(series)
    },
    exemplars: () => {
      const found = new Map<string, string>()
      for (const [first, bySecond] of known)
        for (const [second, series] of bySecond)
          for (const [bound, exemplar] of series.exemplars) {
            const le = Number.isFinite(bound) ? bound : '+Inf'
            found.set(`${name}_bucket{le="${le}",${labels[0]}="${first}",${labels[1]}="${second}"}`, exemplar)
          }
      return found
    },
  }
}

interface RequestOutcome {
  operation: string
  status: number | null
  code: string | null
  /** Of a sampled trace. */
  traceId?: string | null | undefined
}

export interface Metrics {
  /**
   * The returned function records the outcome and returns the duration in milliseconds. The status is null if the client
   * disconnected before the response.
   */
  startRequest(): (outcome: RequestOutcome) => number
  commandReplayed(operation: string): void
  /** In the text format of Prometheus, which has no exemplars. */
  expose(): Promise<{ contentType: string; text: string; exemplars: Exemplars }>
  registry: Registry
}

/** Default gauges with the suffix of counters. Each is the sum of another gauge over its label `type`. */
const misnamedGauges = ['handles', 'requests', 'resources'].map((kind) => `portico_nodejs_active_${kind}_total`)

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'portico_' })
  for (const name of misnamedGauges) registry.removeSingleMetric(name)
  const durations = createBatchedHistogram({
    name: 'portico_request_duration_seconds',
    help: 'Time from the first stage to the response, by operation and status',
    labels: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registry,
  })
  const refusals = new Counter({
    name: 'portico_refusals_total',
    help: 'Refused requests by operation and code',
    labelNames: ['operation', 'code'],
    registers: [registry],
  })
  const abandoned = new Counter({
    name: 'portico_requests_abandoned_total',
    help: 'Requests whose client disconnected before the response, by operation',
    labelNames: ['operation'],
    registers: [registry],
  })
  // Starts with 0, unlike the series of a status. Otherwise, alerts would not notice the first errors.
  const serverErrors = new Counter({
    name: 'portico_server_errors_total',
    help: 'Responses with status 5xx, except 501',
    registers: [registry],
  })
  const replayed = new Counter({
    name: 'portico_service_commands_replayed_total',
    help: 'Commands of services behind OpenAPI documents that got their stored reply, by operation',
    labelNames: ['operation'],
    registers: [registry],
  })
  return {
    commandReplayed: (operation) => replayed.inc({ operation }),
    startRequest: () => {
      const start = performance.now()
      return ({ operation, status, code, traceId }) => {
        const ms = performance.now() - start
        durations.observe(operation, String(status ?? 'none'), ms / 1000, traceId)
        if (status !== null && status >= 500 && status !== 501) serverErrors.inc()
        if (status === null) abandoned.inc({ operation })
        else if (code !== null) refusals.inc({ operation, code })
        return ms
      }
    },
    expose: async () => ({
      contentType: registry.contentType,
      text: await registry.metrics(),
      exemplars: durations.exemplars(),
    }),
    registry,
  }
}

function flush(series: Series): void {
  for (const seconds of series.pending) series.observe(seconds)
  series.pending.length = 0
}
