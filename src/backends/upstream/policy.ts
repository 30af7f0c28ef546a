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
 * The codes that the breaker counts as failures of the upstream. Refusals that the upstream itself returned do not
 * count. Otherwise a caller could open the breaker for everyone.
 */
const unhealthyCodes = new Set(['SYSTEM.UPSTREAM_INVALID_RESPONSE', 'SYSTEM.UPSTREAM_TIMEOUT', 'SYSTEM.UNAVAILABLE'])

/** Whether an error means that the upstream is unhealthy. */
export const isUnhealthy = (error: unknown): error is Refusal =>
  error instanceof Refusal && !(error instanceof UpstreamRefusal) && unhealthyCodes.has(error.code)

/**
 * Returns the refusal for a call that the breaker or the concurrency limit rejected. Returns undefined for other
 * errors.
 */
export const toUnavailable = (error: unknown): Refusal | undefined =>
  error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError
    ? new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: error.message })
    : undefined

const worstState = (states: readonly CircuitState[]): BreakerState => {
  if (states.includes(CircuitState.Open)) return 2
  return states.includes(CircuitState.HalfOpen) ? 1 : 0
}

/**
 * Returns a refusal of the upstream as a result, because it ends a series of failures like a success. Rethrows other
 * errors.
 */
const toSuccess = (error: unknown): UpstreamRefusal => {
  if (error instanceof UpstreamRefusal) return error
  throw error
}

/** Limits the concurrent calls of an upstream, and rejects calls after a series of failures. */
class UpstreamPolicy {
  readonly circuit: CircuitBreakerPolicy
  readonly #bulkhead: BulkheadPolicy
  /** Whether the breaker has counted failures since the last success. */
  #hasFailures = false

  constructor({ concurrency, queue, breaker }: UpstreamConfiguration) {
    this.#bulkhead = bulkhead(concurrency, queue)
    this.circuit = circuitBreaker(handleWhen(isUnhealthy), {
      halfOpenAfter: breaker.openMs,
      breaker: new ConsecutiveBreaker(breaker.failures),
    })
  }

  /** Runs an attempt. Throws a BulkheadRejectedError or a BrokenCircuitError if the attempt is rejected. */
  execute(attempt: Attempt): Promise<unknown> {
    return this.#bulkhead.execute(() => {
      if (this.circuit.state === CircuitState.Closed) return this.#whileClosed(attempt)
      // One call tests the upstream. cockatiel would let other calls wait for the result without a limit, but they have
      // a deadline.
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
   * Runs an attempt while the breaker is closed, and reports only failures and the success that ends a series of them.
   * Reporting every success would cost a twentieth of a request (docs/appendix/experiments.md).
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
    // A call that started before the breaker opened does not show whether the upstream has recovered.
    if (this.circuit.state !== CircuitState.Closed) return outcome()
    this.#hasFailures = isFailure
    return this.#throughCircuit(outcome)
  }
}

/**
 * Returns the policies of an upstream. Streams have a separate concurrency limit and breaker. They last as long as the
 * client takes, and buffered calls that waited for them would miss their deadline.
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
