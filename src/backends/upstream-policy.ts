import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  wrap,
} from 'cockatiel'
import type { UpstreamConfiguration } from '../config/index.ts'
import { Refusal } from '../kernel/index.ts'
import type { UpstreamMetrics } from './metrics.ts'

/** Failures that speak of the upstream's health; a refusal of business is none. */
const unhealthy = new Set(['SYSTEM.UPSTREAM_INVALID_RESPONSE', 'SYSTEM.UPSTREAM_TIMEOUT', 'SYSTEM.UNAVAILABLE'])
export const isUnhealthy = (error: unknown): error is Refusal => error instanceof Refusal && unhealthy.has(error.code)

/** A call that was not even tried, as the caller is told of it. */
export const notTried = (error: unknown): Refusal | undefined =>
  error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError
    ? new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: error.message })
    : undefined

const stateOf = (state: CircuitState): 0 | 1 | 2 =>
  state === CircuitState.Closed ? 0 : state === CircuitState.HalfOpen ? 1 : 2

/**
 * At most so many at once, and none for a while after so many failures in a row. Streams have places of their own: they last as
 * long as a client takes, and what is answered whole has a deadline that would pass behind them.
 */
export const upstreamPolicies = (
  { url, concurrency, queue, breaker }: UpstreamConfiguration,
  metrics: UpstreamMetrics,
) => {
  const circuit = circuitBreaker(handleWhen(isUnhealthy), {
    halfOpenAfter: breaker.openMs,
    breaker: new ConsecutiveBreaker(breaker.failures),
  })
  metrics.breaker(url, 0)
  circuit.onStateChange((state) => metrics.breaker(url, stateOf(state)))
  const places = () => wrap(bulkhead(concurrency, queue), circuit)
  return { whole: places(), streamed: places() }
}
