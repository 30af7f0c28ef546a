import type { StreamSettings, UpstreamConfiguration } from '../../config/index.ts'
import {
  type Call,
  clientDisconnected,
  isCommand,
  receiveStatus,
  type UpstreamUse,
} from '../../gateway/pipeline/call.ts'
import type { MaybePromise, Refusal } from '../../kernel/index.ts'
import type { Backend } from '../backend.ts'
import { createEventsClient } from '../pass-through/events-client.ts'
import { sendRequest } from './client.ts'
import { basePathOf, openPool, toConnectionRefusal } from './connection.ts'
import type { UpstreamMetrics } from './metrics.ts'
import { createUpstreamPolicies } from './policy.ts'
import { type ClientPorts, invalidReply, readReply, UnreachableRefusal, upstreamTimeout } from './reply.ts'
import { buildRequest } from './request.ts'
import { createSocketClient } from './socket-client.ts'
import { createStreamClient, isStreamed } from './stream-client.ts'

export interface Upstream extends Backend {
  /** Calls in progress finish normally. */
  retire(): void
  close(): Promise<void>
}

export interface UpstreamPorts extends ClientPorts {
  assertionOf(call: Call): MaybePromise<string>
  metrics: UpstreamMetrics
  /** Absent if tracing is disabled. */
  startAttempt?: StartAttempt | undefined
}

/** Starts a span. The returned function ends it with the outcome of the attempt. */
export type StartAttempt = (call: Call, use: UpstreamUse) => (outcome: string) => void

/** Adds a deadline, a circuit breaker, a concurrency limit and one retry of a GET. */
export function createUpstream(
  settings: UpstreamConfiguration,
  ports: UpstreamPorts,
  { maxBufferedBytes, idleTimeoutMs }: Pick<StreamSettings, 'maxBufferedBytes' | 'idleTimeoutMs'>,
): Upstream {
  const { url, timeoutMs, maxReplyBytes } = settings
  const { assertionOf, metrics, startAttempt, isCode, durations } = ports
  const basePath = basePathOf(url)
  const pool = openPool(settings)
  const policies = createUpstreamPolicies(settings, ports)
  const streams = createStreamClient(settings, idleTimeoutMs, ports)
  const events = createEventsClient(settings, ports)
  const sockets = createSocketClient(settings, maxBufferedBytes, ports)

  const send = (call: Call, assertion: string, deadline: number): Promise<unknown> => {
    if (call.handshake) return sockets.open(call, call.handshake, assertion)
    if (call.operation.reply === 'events') return events.send(call, assertion)
    if (isStreamed(call)) return streams.send(call, assertion)
    const request = buildRequest(call, assertion)
    const limits = { maxReplyBytes, durations, remainingMs: deadline - durations.now(), client: call.client }
    return sendRequest(pool, { ...request, path: basePath + request.path }, limits).then((reply) => {
      receiveStatus(call, reply.status)
      call.isTotalEstimated = reply.totalEstimated === 'true'
      const data = readReply(reply, isCode)
      assertHooksRan(call, reply.hooks)
      return data
    })
  }

  const attempt = async (call: Call, deadline: number): Promise<unknown> => {
    // Sign after the queue, where an assertion could expire.
    const assertion = await assertionOf(call)
    const start = durations.now()
    // After its deadline, the call counts as rejected and must not take effect. For streams, the time limit starts only
    // now.
    if (start >= deadline && !isStreamed(call)) throw upstreamTimeout('deadline passed in the queue', false)
    if (!isCommand(call) && call.client.isGone) throw clientDisconnected()
    const use = call.upstream ?? { url, attempts: 0, ms: 0, status: null }
    call.upstream = Object.assign(use, { attempts: use.attempts + 1, status: null })
    const endSpan = startAttempt?.(call, use)
    let outcome = 'ok'
    metrics.changeInFlight(url, 1)
    try {
      return await send(call, assertion, deadline)
    } catch (error) {
      const refusal = toConnectionRefusal(error)
      outcome = outcomeOf(refusal, call)
      throw refusal
    } finally {
      metrics.changeInFlight(url, -1)
      const ms = durations.now() - start
      use.ms += ms
      metrics.observeAttempt(url, outcome, ms / 1000)
      endSpan?.(outcome)
    }
  }

  return {
    handle: (call) => {
      const deadline = durations.now() + timeoutMs
      const guard = isStreamed(call) ? policies.streamed : policies.whole
      return guard(call, () =>
        attempt(call, deadline).catch((error: unknown) =>
          isRetried(call, error) ? attempt(call, deadline) : Promise.reject(error),
        ),
      )
    },
    replyError: invalidReply,
    maxReplyBytes: () => maxReplyBytes,
    timeoutMs,
    retire: policies.retire,
    close: async () => {
      streams.close()
      events.close()
      sockets.close()
      await pool.close()
    },
  }
}

/** Another implementation of a domain knows no hooks. */
function assertHooksRan({ operation: { before = [] } }: Call, ran: string): void {
  if (before.some((name) => !ran.split(',').includes(name)))
    throw invalidReply(
      `the service did not run the hooks of ${before.join(', ')}: it must be Portico with these extensions`,
    )
}

function outcomeOf(refusal: Refusal, { client }: Call): string {
  return client.isGone ? 'abandoned' : refusal.code
}

/** A reply is never requested again, and no time is left after a timeout. */
function isRetried(call: Call, error: unknown): boolean {
  return !isCommand(call) && !call.client.isGone && error instanceof UnreachableRefusal && error.isConnection
}
