import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { createSharedLimiter, type Durations } from '../../kernel/index.ts'
import { type Caller, Circuit, callerKey } from './circuit.ts'
import type { BreakerState, CircuitChange, UpstreamMetrics } from './metrics.ts'

/**
 * Streams have a separate limit and circuit: their duration depends on the client, and buffered calls that waited for
 * them would miss their deadline. Calls throw SYSTEM.UNAVAILABLE if the limit or the circuit rejects them. A call
 * leaves the queue when its client disconnects. No caller takes all slots or places of the queue.
 */
export function createUpstreamPolicies(
  settings: UpstreamConfiguration,
  { metrics, durations }: { metrics: UpstreamMetrics; durations: Durations },
) {
  const { url, concurrency, connections, breaker } = settings
  const onChange = (change: CircuitChange): void => metrics.reportCircuit(url, change)
  // In undici's queue, a request that nobody waits for would still cost a connection.
  const whole = createPolicy(settings, Math.min(concurrency, connections), new Circuit(breaker, durations, onChange))
  const streamed = createPolicy(settings, concurrency, new Circuit(breaker, durations, onChange))
  const retire = metrics.watchBreaker(url, () => worstState(whole.circuit.state, streamed.circuit.state))
  return { whole: whole.run, streamed: streamed.run, retire }
}

type LimitedCall = Caller & Pick<Call, 'client'>

function createPolicy({ queue }: UpstreamConfiguration, concurrency: number, circuit: Circuit) {
  const { runLimited } = createSharedLimiter({ concurrency, waiting: queue })
  return {
    circuit,
    run: (call: LimitedCall, attempt: () => Promise<unknown>): Promise<unknown> =>
      runLimited(() => circuit.run(call, attempt), callerKey(call), call.client.signal),
  }
}

function worstState(one: BreakerState, other: BreakerState): BreakerState {
  return one > other ? one : other
}
