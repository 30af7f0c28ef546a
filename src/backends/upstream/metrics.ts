import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Refusal } from '../../kernel/index.ts'
import type { DependencyLog } from '../../platform/dependency-log.ts'
import { createBatchedHistogram } from '../../platform/telemetry/index.ts'

/** 0 closed, 1 half open, 2 open. */
export type BreakerState = 0 | 1 | 2

export interface CircuitChange {
  isOpen: boolean
  /** Failures and callers of the window that opened the circuit. */
  failures: number
  callers: number
}

export interface UpstreamMetrics {
  /** Records an attempt. `outcome` is `ok`, `abandoned` or the refusal code. */
  observeAttempt(upstream: string, outcome: string, seconds: number): void
  /** Reads the state at each scrape until the returned function is called. */
  watchBreaker(upstream: string, state: () => BreakerState): () => void
  /** Also logs the change. */
  reportCircuit(upstream: string, change: CircuitChange): void
  /** `failure` is null after a reply. */
  reportConnection(upstream: string, failure: Refusal | null): void
  changeInFlight(upstream: string, change: 1 | -1): void
}

export function createUpstreamMetrics(
  registry: Registry,
  logger?: Logger,
  dependencies?: DependencyLog,
): UpstreamMetrics {
  const attempts = createBatchedHistogram({
    name: 'portico_upstream_attempt_seconds',
    help: 'Duration of each attempt at an upstream, by outcome',
    labels: ['upstream', 'outcome'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    registry,
  })
  const breakers = new Set<{ upstream: string; state: () => BreakerState }>()
  addBreakerGauge(registry, breakers)
  const opened = new Counter({
    name: 'portico_upstream_breaker_opened_total',
    help: 'Number of times the circuit breaker of an upstream has opened',
    labelNames: ['upstream'],
    registers: [registry],
  })
  const inFlight = new Map<string, number>()
  addInFlightGauge(registry, inFlight)
  return {
    observeAttempt: attempts.observe,
    watchBreaker: (upstream, state) => {
      const watched = { upstream, state }
      breakers.add(watched)
      opened.inc({ upstream }, 0)
      return () => void breakers.delete(watched)
    },
    reportCircuit: (upstream, { isOpen, failures, callers }) => {
      if (!isOpen) {
        logger?.info({ upstream }, 'circuit closed')
        return
      }
      opened.inc({ upstream })
      logger?.warn({ upstream, failures, callers }, 'circuit opened')
    },
    reportConnection: (upstream, failure) => {
      if (failure) dependencies?.failed(`service ${upstream}`, failure)
      else dependencies?.works(`service ${upstream}`)
    },
    changeInFlight: (upstream, change) => void inFlight.set(upstream, (inFlight.get(upstream) ?? 0) + change),
  }
}

/** Several breakers may report one upstream. The gauge shows the worst state. */
function addBreakerGauge(registry: Registry, breakers: Set<{ upstream: string; state: () => BreakerState }>): void {
  new Gauge({
    name: 'portico_upstream_breaker_state',
    aggregator: 'max',
    help: 'Circuit breaker of an upstream: 0 closed, 1 half open, 2 open',
    labelNames: ['upstream'],
    registers: [registry],
    collect() {
      this.reset()
      const worst = new Map<string, BreakerState>()
      for (const { upstream, state } of breakers) worst.set(upstream, maxState(worst.get(upstream) ?? 0, state()))
      for (const [upstream, state] of worst) this.set({ upstream }, state)
    },
  })
}

function maxState(one: BreakerState, other: BreakerState): BreakerState {
  return one > other ? one : other
}

/** Reads plain counts at each scrape, because they change twice per request. */
function addInFlightGauge(registry: Registry, counts: Map<string, number>): void {
  new Gauge({
    name: 'portico_upstream_requests_in_flight',
    aggregator: 'sum',
    help: 'Requests in flight to an upstream',
    labelNames: ['upstream'],
    registers: [registry],
    collect() {
      for (const [upstream, count] of counts) this.set({ upstream }, count)
    },
  })
}
