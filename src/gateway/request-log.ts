import type { Logger } from 'pino'
import { statusOf } from '../contract/index.ts'
import type { Refusal } from '../kernel/index.ts'
import type { Call } from './call.ts'

export interface Finished {
  requestId: string
  /** Null where no operation was found. */
  call: Call | null
  refusal: Refusal | null
  status: number
  ms: number
}

const isFault = ({ code, detail }: Refusal): boolean =>
  statusOf(code) >= 500 && code !== 'SYSTEM.NOT_IMPLEMENTED' && !detail.documented

/** What a line may contain, listed: never a body, a query, a token, an access code or a client hash. */
const lineOf = ({ requestId, call, status, ms }: Finished) => ({
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

/** One structured, flat line per request of the chains, when it has been answered. */
export const requestLog =
  (logger: Logger) =>
  (finished: Finished): void => {
    const line = lineOf(finished)
    const { refusal } = finished
    if (!refusal) {
      logger.info(line, 'request')
      return
    }
    const refused = { ...line, code: refusal.code, internal: refusal.detail.internal }
    if (isFault(refusal)) logger.error({ ...refused, err: refusal.cause ?? refusal }, 'request failed')
    else logger.info(refused, 'request refused')
  }
