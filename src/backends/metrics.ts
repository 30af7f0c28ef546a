import { Counter, Gauge, type Registry } from 'prom-client'
import { createBatchedHistogram } from '../platform/telemetry/index.ts'

/** 0 closed, 1 half open, 2 open. */
export type BreakerState = 0 | 1 | 2

/** What is known of one try at an upstream, and of the upstream's health. */
export interface UpstreamMetrics {
  /** `outcome`: `ok`, or the code of the refusal. */
  attempted(upstream: string, outcome: string, seconds: number): void
  /** The breaker's state is told whenever it is asked for, until what this answers is called. */
  watchBreaker(upstream: string, state: () => BreakerState): () => void
  breakerOpened(upstream: string): void
  underWay(upstream: string, change: 1 | -1): void
}

const worseOf = (one: BreakerState, other: BreakerState): BreakerState => (one > other ? one : other)

export const createUpstreamMetrics = (registry: Registry): UpstreamMetrics => {
  const registers = [registry]
  const attempts = createBatchedHistogram({
    name: 'portico_upstream_attempt_seconds',
    help: 'Time of each try at an upstream, by outcome',
    labels: ['upstream', 'outcome'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    registry,
  })
  const breakers = new Set<{ upstream: string; state: () => BreakerState }>()
  new Gauge({
    name: 'portico_upstream_breaker_state',
    help: 'Circuit breaker of an upstream: 0 closed, 1 half open, 2 open',
    labelNames: ['upstream'],
    registers,
    collect() {
      this.reset()
      const worst = new Map<string, BreakerState>()
      for (const { upstream, state } of breakers) worst.set(upstream, worseOf(worst.get(upstream) ?? 0, state()))
      for (const [upstream, state] of worst) this.set({ upstream }, state)
    },
  })
  const opened = new Counter({
    name: 'portico_upstream_breaker_opened_total',
    help: 'How often the circuit breaker of an upstream has opened',
    labelNames: ['upstream'],
    registers,
  })
  // A plain count, read when it is asked for: it changes twice with each request.
  const counts = new Map<string, number>()
  new Gauge({
    name: 'portico_upstream_requests_under_way',
    help: 'Requests that an upstream has not answered yet',
    labelNames: ['upstream'],
    registers,
    collect() {
      for (const [upstream, count] of counts) this.set({ upstream }, count)
    },
  })
  return {
    attempted: attempts.observe,
    watchBreaker: (upstream, state) => {
      const watched = { upstream, state }
      breakers.add(watched)
      opened.inc({ upstream }, 0)
      return () => void breakers.delete(watched)
    },
    breakerOpened: (upstream) => opened.inc({ upstream }),
    underWay: (upstream, change) => void counts.set(upstream, (counts.get(upstream) ?? 0) + change),
  }
}
