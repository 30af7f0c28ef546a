import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'
import type { Catalogue } from '../../contract/index.ts'
import type { Instant, Refusal } from '../../kernel/index.ts'
import type { Call } from '../pipeline/call.ts'
import type { ClosedSocket } from '../sockets/relay.ts'

export interface UnmatchedFacts {
  method: string
  clientIp: string
  userAgent: string
  receivedAt: Instant
}

export interface FinishedRequest {
  requestId: string
  /** Null if the request matched no operation. */
  call: Call | null
  /** Absent if the request matched an operation. */
  unmatched?: UnmatchedFacts | undefined
  refusal: Refusal | null
  /** Null if the client disconnected before the response. */
  status: number | null
  ms: number
}

export function createRequestLog(
  logger: Logger,
  catalogue: Pick<Catalogue, 'statusOf'>,
): (finished: FinishedRequest) => void {
  return (finished) => {
    const fields = requestFields(finished)
    const { refusal } = finished
    const isAbandoned = finished.status === null
    if (!refusal) {
      logger.info(fields, isAbandoned ? 'request abandoned' : 'request')
      return
    }
    const { internal, upstreamCode } = refusal.detail
    const refused = { ...fields, code: refusal.code, internal, upstreamCode }
    if (isServerError(catalogue, refusal)) logger.error({ ...refused, err: refusal.cause ?? refusal }, 'request failed')
    else logger.info(refused, isAbandoned ? 'request abandoned' : 'request refused')
  }
}

/** The line contains no message. */
export function createSocketLog(logger: Logger) {
  return ({ call, received, sent, ms }: ClosedSocket): void =>
    logger.info(
      {
        requestId: call.requestId,
        ms: Math.round(ms),
        operation: call.operation.id,
        chain: call.chainId,
        clientIp: call.clientIp,
        account: call.caller?.accountId,
        session: call.caller?.sessionId ?? undefined,
        apiKey: call.caller?.apiKeyId ?? undefined,
        workspace: call.workspace?.id,
        streamEnd: call.streamEnd ?? undefined,
        bytesReceived: received,
        bytesSent: sent,
      },
      'socket closed',
    )
}

/** Of the URL, the line contains only the path. */
export function createPageLog(logger: Logger) {
  return pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: { req: () => undefined, res: () => undefined },
    customAttributeKeys: { responseTime: 'ms', reqId: 'pageRequest' },
    customSuccessMessage: () => 'page',
    customErrorMessage: () => 'page failed',
    customSuccessObject: (request, response, fields) => ({ ...fields, ...pageFields(request, response) }),
    customErrorObject: (request, response, _error, fields) => ({ ...fields, ...pageFields(request, response) }),
  })
}

/** A line must not contain a body, a query, a token, an access code or a client hash. */
function requestFields({ requestId, call, unmatched, status, ms }: FinishedRequest) {
  return {
    requestId,
    idempotencyKey: call?.idempotencyKey ?? undefined,
    status: status ?? undefined,
    abandoned: status === null || undefined,
    ms: Math.round(ms * 100) / 100,
    operation: call?.operation.id,
    chain: call?.chainId,
    method: call?.method ?? unmatched?.method,
    clientIp: call?.clientIp ?? unmatched?.clientIp,
    country: call?.country,
    account: call?.caller?.accountId,
    session: call?.caller?.sessionId ?? undefined,
    apiKey: call?.caller?.apiKeyId ?? undefined,
    workspace: call?.workspace?.id,
    userAgent: call?.userAgent ?? unmatched?.userAgent,
    traceId: call?.trace?.traceId ?? undefined,
    streamEnd: call?.streamEnd ?? undefined,
    /** The domain whose hook ended the command. */
    hook: call?.hookRuns?.find(({ verdict }) => verdict !== 'passed')?.domain,
  }
}

function isServerError(catalogue: Pick<Catalogue, 'statusOf'>, { code, detail }: Refusal): boolean {
  return catalogue.statusOf(code) >= 500 && code !== 'SYSTEM.NOT_IMPLEMENTED' && !detail.documented
}

function pageFields({ url }: IncomingMessage, { statusCode }: ServerResponse) {
  return {
    status: statusCode,
    page: url?.split('?')[0],
  }
}
