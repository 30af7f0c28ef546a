import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
} from 'cockatiel'
import type { UpstreamConfiguration } from '../config/index.ts'
import { Refusal } from '../kernel/index.ts'
import type { BreakerState, UpstreamMetrics } from './metrics.ts'
import { AnsweredRefusal } from './upstream-reply.ts'

/**
 * Failures that speak of the upstream's health, and are all that the breaker counts. What was answered is none, so that
 * no caller's own data can take the upstream away from the others.
 */
const unhealthy = new Set(['SYSTEM.UPSTREAM_INVALID_RESPONSE', 'SYSTEM.UPSTREAM_TIMEOUT', 'SYSTEM.UNAVAILABLE'])
export const isUnhealthy = (error: unknown): error is Refusal =>
  error instanceof Refusal && !(error instanceof AnsweredRefusal) && unhealthy.has(error.code)

/** To the breaker an answer is an answer, a refusal too: it ends a row of failures. What a client broke off is none. */
const asAnswer = (error: unknown): AnsweredRefusal => {
  if (error instanceof AnsweredRefusal) return error
  throw error
}

/** A call that was not even tried, as the caller is told of it. */
export const notTried = (error: unknown): Refusal | undefined =>
  error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError
    ? new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: error.message })
    : undefined

/** The worst of them, as metrics tell it. */
const stateOf = (states: readonly CircuitState[]): BreakerState => {
  if (states.includes(CircuitState.Open)) return 2
  return states.includes(CircuitState.HalfOpen) ? 1 : 0
}

/**
 * At most so many at once, and none for a while after so many failures in a row. Streams have places and a breaker of
 * their own: they last as long as a client takes, and what is answered whole has a deadline that would pass behind them.
 */
export const upstreamPolicies = (
  { url, concurrency, queue, breaker }: UpstreamConfiguration,
  metrics: UpstreamMetrics,
) => {
  const guarded = () => {
    const places = bulkhead(concurrency, queue)
    const circuit = circuitBreaker(handleWhen(isUnhealthy), {
      halfOpenAfter: breaker.openMs,
      breaker: new ConsecutiveBreaker(breaker.failures),
    })
    const throughCircuit = async (attempt: () => Promise<unknown>): Promise<unknown> => {
      const answered = await circuit.execute(() => attempt().catch(asAnswer))
      if (answered instanceof AnsweredRefusal) throw answered
      return answered
    }
    /** Whether the circuit counts a row of failures. */
    let isRow = false
    const count = (isFailure: boolean, outcome: () => Promise<unknown>): Promise<unknown> => {
      // What began before it opened says nothing of whether the upstream is back.
      if (circuit.state !== CircuitState.Closed) return outcome()
      isRow = isFailure
      return throughCircuit(outcome)
    }
    /**
     * Closed, the circuit lets every call through. It is told of what it counts, a failure and the answer that ends a row of
     * them: to tell it of every other answer took a twentieth of a request (docs/performance.md).
     */
    const whileClosed = async (attempt: () => Promise<unknown>): Promise<unknown> => {
      try {
        const reply = await attempt()
        return isRow ? await count(false, async () => reply) : reply
      } catch (error) {
        const isFailure = isUnhealthy(error)
        const isCounted = isFailure || (isRow && error instanceof AnsweredRefusal)
        if (!isCounted) throw error
        return count(isFailure, () => Promise.reject(error))
      }
    }
    const within = (attempt: () => Promise<unknown>): Promise<unknown> =>
      places.execute(() => {
        if (circuit.state === CircuitState.Closed) return whileClosed(attempt)
        // One tries whether it is back. The circuit lets others wait for that one, however long: they have a deadline.
        if (circuit.state === CircuitState.HalfOpen) throw new BrokenCircuitError()
        return throughCircuit(attempt)
      })
    return { circuit, within }
  }
  const [whole, streamed] = [guarded(), guarded()]
  const circuits = [whole.circuit, streamed.circuit]
  const retire = metrics.watchBreaker(url, () => stateOf(circuits.map(({ state }) => state)))
  for (const circuit of circuits) circuit.onBreak(() => metrics.breakerOpened(url))
  return { whole: whole.within, streamed: streamed.within, retire }
}
