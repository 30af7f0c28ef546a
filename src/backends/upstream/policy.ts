import {
  BrokenCircuitError,
  type BulkheadPolicy,
  BulkheadRejectedError,
  bulkhead,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
} from 'cockatiel'
import type { UpstreamConfiguration } from '../../config/index.ts'
import { Refusal } from '../../kernel/index.ts'
import type { BreakerState, UpstreamMetrics } from './metrics.ts'
import { UpstreamRefusal } from './reply.ts'

type Attempt = () => Promise<unknown>

/**
 * Refusals that the upstream itself returned do not count, because otherwise one caller could open the breaker for
 * everyone.
 */
const unhealthyCodes = new Set(['SYSTEM.UPSTREAM_INVALID_RESPONSE', 'SYSTEM.UPSTREAM_TIMEOUT', 'SYSTEM.UNAVAILABLE'])

export const isUnhealthy = (error: unknown): error is Refusal =>
  error instanceof Refusal && !(error instanceof UpstreamRefusal) && unhealthyCodes.has(error.code)

/** The refusal of a call that the breaker or the concurrency limit rejected. */
export const toUnavailable = (error: unknown): Refusal | undefined =>
  error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError
    ? new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: error.message })
    : undefined

const worstState = (states: readonly CircuitState[]): BreakerState => {
  if (states.includes(CircuitState.Open)) return 2
  return states.includes(CircuitState.HalfOpen) ? 1 : 0
}

/** A refusal by the upstream ends a series of failures, as a success does. */
const toSuccess = (error: unknown): UpstreamRefusal => {
  if (error instanceof UpstreamRefusal) return error
  throw error
}

class UpstreamPolicy {
  readonly circuit: CircuitBreakerPolicy
  readonly #bulkhead: BulkheadPolicy
  /** Whether calls failed since the last success. */
  #hasFailures = false

  constructor({ concurrency, queue, breaker }: UpstreamConfiguration) {
    this.#bulkhead = bulkhead(concurrency, queue)
    this.circuit = circuitBreaker(handleWhen(isUnhealthy), {
      halfOpenAfter: breaker.openMs,
      breaker: new ConsecutiveBreaker(breaker.failures),
    })
  }

  /** Throws a BulkheadRejectedError or a BrokenCircuitError if the attempt is rejected. */
  execute(attempt: Attempt): Promise<unknown> {
    return this.#bulkhead.execute(() => {
      if (this.circuit.state === CircuitState.Closed) return this.#whileClosed(attempt)
      // One call tests the upstream. cockatiel would make other calls wait without a limit, but they have a deadline.
      if (this.circuit.state === CircuitState.HalfOpen) throw new BrokenCircuitError()
      return this.#throughCircuit(attempt)
    })
  }

  async #throughCircuit(attempt: Attempt): Promise<unknown> {
    const result = await this.circuit.execute(() => attempt().catch(toSuccess))
    if (result instanceof UpstreamRefusal) throw result
    return result
  }

  /**
   * Reports a success only if it ends a series of failures. Reporting every success would cost a twentieth of a request
   * (docs/appendix/experiments.md).
   */
  async #whileClosed(attempt: Attempt): Promise<unknown> {
    try {
      const reply = await attempt()
      return this.#hasFailures ? await this.#report(false, async () => reply) : reply
    } catch (error) {
      const isFailure = isUnhealthy(error)
      const isReported = isFailure || (this.#hasFailures && error instanceof UpstreamRefusal)
      if (!isReported) throw error
      return this.#report(isFailure, () => Promise.reject(error))
    }
  }

  #report(isFailure: boolean, outcome: Attempt): Promise<unknown> {
    // If the breaker opened during this call, the result does not show whether the upstream has recovered.
    if (this.circuit.state !== CircuitState.Closed) return outcome()
    this.#hasFailures = isFailure
    return this.#throughCircuit(outcome)
  }
}

/**
 * Streams have a separate limit and breaker: their duration depends on the client, and buffered calls that waited for
 * them would miss their deadline.
 */
export function createUpstreamPolicies(settings: UpstreamConfiguration, metrics: UpstreamMetrics) {
  const [whole, streamed] = [new UpstreamPolicy(settings), new UpstreamPolicy(settings)]
  const circuits = [whole.circuit, streamed.circuit]
  const retire = metrics.watchBreaker(settings.url, () => worstState(circuits.map(({ state }) => state)))
  for (const circuit of circuits) circuit.onBreak(() => metrics.countBreakerOpen(settings.url))
  return {
    whole: (attempt: Attempt) => whole.execute(attempt),
    streamed: (attempt: Attempt) => streamed.execute(attempt),
    retire,
  }
}
