import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { type MaybePromise, Refusal } from '../../kernel/index.ts'
import type { Backend } from '../backend.ts'
import { sendRequest } from './client.ts'
import { openPool, toConnectionRefusal } from './connection.ts'
import type { UpstreamMetrics } from './metrics.ts'
import { createUpstreamPolicies, isUnhealthy, toUnavailable } from './policy.ts'
import { type IsCode, invalidReply, readReply } from './reply.ts'
import { buildRequest } from './request.ts'
import { createStreamClient, isStreamed } from './stream-client.ts'

export interface Upstream extends Backend {
  /** Stops reporting the breaker's state. Calls in progress end normally. */
  retire(): void
  close(): Promise<void>
}

/** Whether a call is retried. Only a GET is, and not after a timeout, because no time is left. */
const isRetried = ({ operation }: Call, error: unknown): boolean =>
  operation.method === 'GET' && isUnhealthy(error) && error.code !== 'SYSTEM.UPSTREAM_TIMEOUT'

/**
 * Returns the backend that sends operations to an HTTP service: with a deadline, a circuit breaker, a concurrency limit
 * and one retry of a GET. `assertionOf` returns the signed call assertion.
 */
export function createUpstream(
  settings: UpstreamConfiguration,
  assertionOf: (call: Call) => MaybePromise<string>,
  metrics: UpstreamMetrics,
  isCode: IsCode,
): Upstream {
  const { url, timeoutMs, maxReplyBytes } = settings
  const basePath = new URL(url).pathname.replace(/\/$/, '')
  const pool = openPool(settings)
  const policies = createUpstreamPolicies(settings, metrics)
  const streams = createStreamClient(settings, isCode)

  const send = (call: Call, assertion: string, deadline: number): Promise<unknown> => {
    if (isStreamed(call)) return streams.send(call, assertion)
    const request = buildRequest(call, assertion)
    const limits = { maxReplyBytes, remainingMs: deadline - performance.now() }
    return sendRequest(pool, { ...request, path: basePath + request.path }, limits).then((reply) =>
      readReply(reply, isCode),
    )
  }

  const attempt = async (call: Call, deadline: number): Promise<unknown> => {
    // Sign the assertion after the wait in the queue, because it could expire there.
    const assertion = await assertionOf(call)
    const start = performance.now()
    // After the deadline the call counts as rejected, so it must not take effect. The time limit of a stream starts
    // here.
    if (start >= deadline && !isStreamed(call))
      throw new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'deadline passed in the queue' })
    let outcome = 'ok'
    metrics.changeInFlight(url, 1)
    try {
      return await send(call, assertion, deadline)
    } catch (error) {
      const refusal = toConnectionRefusal(error)
      outcome = refusal.code
      throw refusal
    } finally {
      metrics.changeInFlight(url, -1)
      metrics.observeAttempt(url, outcome, (performance.now() - start) / 1000)
    }
  }

  return {
    handle: async (call) => {
      const deadline = performance.now() + timeoutMs
      const guard = isStreamed(call) ? policies.streamed : policies.whole
      const attemptOnce = () => guard(() => attempt(call, deadline))
      try {
        return await attemptOnce().catch((error: unknown) =>
          isRetried(call, error) ? attemptOnce() : Promise.reject(error),
        )
      } catch (error) {
        throw toUnavailable(error) ?? error
      }
    },
    replyError: (internal) => invalidReply(`reply breaks its schema: ${internal}`),
    retire: policies.retire,
    close: async () => {
      streams.close()
      await pool.close()
    },
  }
}
