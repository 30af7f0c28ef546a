import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  wrap,
} from 'cockatiel'
import { type Dispatcher, Pool } from 'undici'
import type { UpstreamConfiguration } from '../config/index.ts'
import type { Call } from '../gateway/call.ts'
import { Refusal } from '../kernel/index.ts'
import { type AssertionClaims, claimsOf } from './assertion.ts'
import type { Backend } from './backend.ts'
import { invalidReply, readReply } from './upstream-reply.ts'
import { upstreamRequest } from './upstream-request.ts'

export interface Upstream extends Backend {
  close(): Promise<void>
}

/** Failures that speak of the upstream's health; a refusal of business is none. */
const unhealthy = new Set(['SYSTEM.UPSTREAM_INVALID_RESPONSE', 'SYSTEM.UPSTREAM_TIMEOUT', 'SYSTEM.UNAVAILABLE'])
const isUnhealthy = (error: unknown): boolean => error instanceof Refusal && unhealthy.has(error.code)

const failure = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  if (error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError)
    return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: error.message })
  const name = error instanceof Error ? error.name : ''
  if (name === 'TimeoutError' || name === 'AbortError')
    return new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline', cause: error })
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ENOTFOUND')
    return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: `upstream ${code}`, cause: error })
  return invalidReply('connection failed', error)
}

const readText = async (response: Dispatcher.ResponseData, maxBytes: number): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > maxBytes) {
      response.body.destroy()
      throw invalidReply('reply too large')
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** An HTTP service behind the gateway: design.md section 4. `assert` signs what it is told of the caller. */
export const createUpstream = (
  settings: UpstreamConfiguration,
  assert: (claims: AssertionClaims) => Promise<string>,
): Upstream => {
  const base = new URL(settings.url)
  const basePath = base.pathname.replace(/\/$/, '')
  const pool = new Pool(base.origin, { connections: settings.connections, pipelining: 1 })
  const policy = wrap(
    bulkhead(settings.concurrency, settings.queue),
    circuitBreaker(handleWhen(isUnhealthy), {
      halfOpenAfter: settings.breaker.openMs,
      breaker: new ConsecutiveBreaker(settings.breaker.failures),
    }),
  )

  const attempt = async (call: Call, assertion: string, signal: AbortSignal): Promise<unknown> => {
    try {
      const { path, ...request } = upstreamRequest(call, assertion)
      const response = await pool.request({ ...request, path: basePath + path, signal })
      const contentType = String(response.headers['content-type'] ?? '')
      return readReply(response.statusCode, contentType, await readText(response, settings.maxReplyBytes))
    } catch (error) {
      throw failure(error)
    }
  }

  const isRetried = (call: Call, error: unknown): boolean =>
    call.operation.method === 'GET' &&
    error instanceof Refusal &&
    isUnhealthy(error) &&
    error.code !== 'SYSTEM.UPSTREAM_TIMEOUT'

  return {
    handle: async (call) => {
      const assertion = await assert(claimsOf(call))
      const signal = AbortSignal.timeout(settings.timeoutMs)
      const once = () => policy.execute(() => attempt(call, assertion, signal))
      try {
        return await once().catch((error: unknown) => (isRetried(call, error) ? once() : Promise.reject(error)))
      } catch (error) {
        throw failure(error)
      }
    },
    broken: (internal) => invalidReply(`reply breaks its schema: ${internal}`),
    close: () => pool.close(),
  }
}
