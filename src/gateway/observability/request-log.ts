import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'
import type { Catalogue } from '../../contract/index.ts'
import type { Refusal } from '../../kernel/index.ts'
import type { Call } from '../pipeline/call.ts'

/** A request whose response has been sent. */
export interface FinishedRequest {
  requestId: string
  /** Null if the request matched no operation. */
  call: Call | null
  refusal: Refusal | null
  status: number
  ms: number
}

const isServerError = (catalogue: Pick<Catalogue, 'statusOf'>, { code, detail }: Refusal): boolean =>
  catalogue.statusOf(code) >= 500 && code !== 'SYSTEM.NOT_IMPLEMENTED' && !detail.documented

/**
 * The only fields that a line can contain. It never contains a body, a query, a token, an access code or a client hash.
 */
const requestFields = ({ requestId, call, status, ms }: FinishedRequest) => ({
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
export function createRequestLog(
  logger: Logger,
  catalogue: Pick<Catalogue, 'statusOf'>,
): (finished: FinishedRequest) => void {
  return (finished) => {
    const fields = requestFields(finished)
    const { refusal } = finished
    if (!refusal) {
      logger.info(fields, 'request')
      return
    }
    const refused = { ...fields, code: refusal.code, internal: refusal.detail.internal }
    if (isServerError(catalogue, refusal)) logger.error({ ...refused, err: refusal.cause ?? refusal }, 'request failed')
    else logger.info(refused, 'request refused')
  }
}

const pageFields = ({ url }: IncomingMessage, { statusCode }: ServerResponse) => ({
  status: statusCode,
  page: url?.split('?')[0],
})

/** Returns middleware that logs one line per request of a public page. The line contains only the path. */
export const createPageLog = (logger: Logger) =>
  pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: { req: () => undefined, res: () => undefined },
    customAttributeKeys: { responseTime: 'ms', reqId: 'pageRequest' },
    customSuccessMessage: () => 'page',
    customErrorMessage: () => 'page failed',
    customSuccessObject: (request, response, fields) => ({ ...fields, ...pageFields(request, response) }),
    customErrorObject: (request, response, _error, fields) => ({ ...fields, ...pageFields(request, response) }),
  })
