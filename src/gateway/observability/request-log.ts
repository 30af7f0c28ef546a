import type { Logger } from 'pino'
import { statusOf } from '../../contract/index.ts'
import type { Refusal } from '../../kernel/index.ts'
import type { Call } from '../pipeline/call.ts'

/** A request whose response has been sent. */
export interface FinishedRequest {
  requestId: string
  /** Null when no operation was matched. */
  call: Call | null
  refusal: Refusal | null
  status: number
  ms: number
}

const isServerError = ({ code, detail }: Refusal): boolean =>
  statusOf(code) >= 500 && code !== 'SYSTEM.NOT_IMPLEMENTED' && !detail.documented

/** The only fields that a line may contain: never a body, a query, a token, an access code or a client hash. */
const fieldsOf = ({ requestId, call, status, ms }: FinishedRequest) => ({
  requestId,
  status,
  ms: Math.round(ms * 100) / 100,
  operation: call?.operation.id,
  chain: call?.chainId,
  method: call?.method,
  clientIp: call?.clientIp,
  country: call?.country,
  account: call?.caller?.accountId,
  session: call?.caller?.sessionId ?? undefined,
  apiKey: call?.caller?.apiKeyId ?? undefined,
  workspace: call?.workspace?.id,
  userAgent: call?.userAgent,
  traceId: call?.trace?.traceId ?? undefined,
})

/** Returns the listener that logs one flat line per finished request of the chains. */
export const createRequestLog =
  (logger: Logger) =>
  (finished: FinishedRequest): void => {
    const line = fieldsOf(finished)
    const { refusal } = finished
    if (!refusal) {
      logger.info(line, 'request')
      return
    }
    const refused = { ...line, code: refusal.code, internal: refusal.detail.internal }
    if (isServerError(refusal)) logger.error({ ...refused, err: refusal.cause ?? refusal }, 'request failed')
    else logger.info(refused, 'request refused')
  }
