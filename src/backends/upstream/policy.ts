import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { createSharedLimiter, type Durations, Refusal } from '../../kernel/index.ts'
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
  const report = (failure: Refusal | null): void => metrics.reportConnection(url, failure)
  const open = (size: number) => createPolicy(settings, size, new Circuit(breaker, durations, onChange), report)
  const whole = open(Math.min(concurrency, connections))
  const streamed = open(concurrency)
  const retire = metrics.watchBreaker(url, () => worstState(whole.circuit.state, streamed.circuit.state))
  return { whole: whole.run, streamed: streamed.run, retire }
}

type LimitedCall = Caller & Pick<Call, 'client'>

function createPolicy(
  { queue }: UpstreamConfiguration,
  concurrency: number,
  circuit: Circuit,
  report: (failure: Refusal | null) => void,
) {
  const { runLimited } = createSharedLimiter({ concurrency, waiting: queue })
  return {
    circuit,
    run: (call: LimitedCall, attempt: () => Promise<unknown>): Promise<unknown> =>
      runLimited(() => circuit.run(call, () => withReport(attempt, report)), callerKey(call), call.client),
  }
}

/** Only failed connections have a cause. */
async function withReport(
  attempt: () => Promise<unknown>,
  report: (failure: Refusal | null) => void,
): Promise<unknown> {
  try {
    const reply = await attempt()
    report(null)
    return reply
  } catch (error) {
    const isConnection =
      error instanceof Refusal && error.code.startsWith('SYSTEM.') && error.detail.cause !== undefined
    if (isConnection) report(error)
    throw error
  }
}

function worstState(one: BreakerState, other: BreakerState): BreakerState {
  return one > other ? one : other
}
