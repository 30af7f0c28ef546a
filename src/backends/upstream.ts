import type { UpstreamConfiguration } from '../config/index.ts'
import type { Call } from '../gateway/call.ts'
import { type MaybePromise, Refusal } from '../kernel/index.ts'
import type { Backend } from './backend.ts'
import type { UpstreamMetrics } from './metrics.ts'
import { openPool, wireFailure } from './upstream-connection.ts'
import { exchangeWhole } from './upstream-exchange.ts'
import { isUnhealthy, notTried, upstreamPolicies } from './upstream-policy.ts'
import { invalidReply, readReply } from './upstream-reply.ts'
import { upstreamRequest } from './upstream-request.ts'
import { createStreamExchange, isStreamed } from './upstream-stream.ts'

export interface Upstream extends Backend {
  /** Nobody is sent here from now on; what is under way ends as it would. */
  retire(): void
  close(): Promise<void>
}

/** Only a GET may be asked twice, and not when there is no time left for it. */
const isRetried = ({ operation }: Call, error: unknown): boolean =>
  operation.method === 'GET' && isUnhealthy(error) && error.code !== 'SYSTEM.UPSTREAM_TIMEOUT'

const tooLate = (): Refusal => new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'no time left when its turn came' })

/** An HTTP service behind the gateway: design.md section 4. `assert` signs what it is told of the caller. */
export const createUpstream = (
  settings: UpstreamConfiguration,
  assert: (call: Call) => MaybePromise<string>,
  metrics: UpstreamMetrics,
): Upstream => {
  const { url, timeoutMs, maxReplyBytes } = settings
  const basePath = new URL(url).pathname.replace(/\/$/, '')
  const pool = openPool(settings)
  const policies = upstreamPolicies(settings, metrics)
  const streams = createStreamExchange(settings)

  const exchange = (call: Call, assertion: string, deadline: number): Promise<unknown> => {
    if (isStreamed(call)) return streams.exchange(call, assertion)
    const request = upstreamRequest(call, assertion)
    const bounds = { maxReplyBytes, remainingMs: deadline - performance.now() }
    return exchangeWhole(pool, { ...request, path: basePath + request.path }, bounds).then(readReply)
  }

  const attempt = async (call: Call, deadline: number): Promise<unknown> => {
    // Not before its turn: what has waited would come with one that has run out.
    const assertion = await assert(call)
    const start = performance.now()
    // Its turn has come too late: sent now it would take place after it was refused. A stream has its time from here on.
    if (start >= deadline && !isStreamed(call)) throw tooLate()
    let outcome = 'ok'
    metrics.underWay(url, 1)
    try {
      return await exchange(call, assertion, deadline)
    } catch (error) {
      const failure = wireFailure(error)
      outcome = failure.code
      throw failure
    } finally {
      metrics.underWay(url, -1)
      metrics.attempted(url, outcome, (performance.now() - start) / 1000)
    }
  }

  return {
    handle: async (call) => {
      const deadline = performance.now() + timeoutMs
      const within = isStreamed(call) ? policies.streamed : policies.whole
      const once = () => within(() => attempt(call, deadline))
      try {
        return await once().catch((error: unknown) => (isRetried(call, error) ? once() : Promise.reject(error)))
      } catch (error) {
        throw notTried(error) ?? error
      }
    },
    broken: (internal) => invalidReply(`reply breaks its schema: ${internal}`),
    retire: policies.retire,
    close: async () => {
      streams.close()
      await pool.close()
    },
  }
}
