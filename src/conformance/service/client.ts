import type { Pool } from 'undici'
import { sendRequest } from '../../backends/upstream/client.ts'
import { basePathOf, openPool, toConnectionRefusal } from '../../backends/upstream/connection.ts'
import { type IsCode, readReply, UpstreamRefusal, type UpstreamReply } from '../../backends/upstream/reply.ts'
import { buildRequest } from '../../backends/upstream/request.ts'
import type { UpstreamConfiguration } from '../../config/index.ts'
import { isGatewayCode } from '../../contract/policies.ts'
import { type Code, errorCode, fallbackLocale, messageOf, type Operation, Refusal } from '../../kernel/index.ts'
import { systemDurations } from '../../platform/runtime/index.ts'
import type { Input } from './inputs.ts'

/** The service accepts no connections, so no check can run. */
export class ServiceUnreachable extends Error {}

/** The outcome of a reply at the gateway. `invalid` gives the client 502, 503 or 504. */
export type Outcome = { status: number } & (
  | { kind: 'data'; data: unknown }
  | { kind: 'refused'; code: Code }
  | { kind: 'invalid'; reason: string }
)

export interface ServiceRequest {
  operation: Operation
  input: Input
  requestId: string
  /** The idempotency key. Sent if the operation is idempotent, as the gateway does. */
  key: string
  /** Null sends no assertion. */
  assertion: string | null
}

const unreachableCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** Sends the requests that a gateway sends, and reads the replies as it does. */
export class ServiceClient {
  readonly #settings: UpstreamConfiguration
  readonly #pool: Pool
  readonly #isCode: IsCode

  constructor(settings: UpstreamConfiguration, isCode: IsCode) {
    this.#settings = settings
    this.#pool = openPool(settings)
    this.#isCode = isCode
  }

  /** Throws ServiceUnreachable if it cannot connect to the service. */
  async send({ operation, input, requestId, key, assertion }: ServiceRequest): Promise<Outcome> {
    const { url, maxReplyBytes, timeoutMs } = this.#settings
    const { path, headers, ...request } = buildRequest(
      {
        operation,
        params: input.params,
        input,
        requestId,
        idempotency: operation.policy.idempotent ? { key, bodyHash: '' } : null,
        locale: fallbackLocale,
        clientIp: '203.0.113.9',
        country: 'DE',
        userAgent: 'portico conformance',
        trace: null,
      },
      assertion ?? '',
    )
    const { authorization, ...others } = headers
    const sent = {
      ...request,
      path: basePathOf(url) + path,
      headers: assertion === null || authorization === undefined ? others : { ...others, authorization },
    }
    const limits = { maxReplyBytes, durations: systemDurations, remainingMs: timeoutMs }
    try {
      return toOutcome(await sendRequest(this.#pool, sent, limits), this.#isCode)
    } catch (error) {
      if (unreachableCodes.has(errorCode(error) ?? '')) throw new ServiceUnreachable(messageOf(error), { cause: error })
      return { kind: 'invalid', status: 0, reason: describe(toConnectionRefusal(error)) }
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

function toOutcome(reply: UpstreamReply, isCode: IsCode): Outcome {
  const { status } = reply
  try {
    return { kind: 'data', status, data: readReply(reply, isCode) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return error instanceof UpstreamRefusal && !isGatewayCode(error.code)
      ? { kind: 'refused', status, code: error.code }
      : { kind: 'invalid', status, reason: describe(error) }
  }
}

function describe({ detail, code, cause }: Refusal): string {
  const reason = detail.upstreamCode === undefined ? '' : ` ${detail.upstreamCode}`
  return `${detail.internal ?? code}${reason}${cause === undefined ? '' : `: ${messageOf(cause)}`}`
}
