import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'
import type { LogField } from '../../config/index.ts'
import type { Catalogue } from '../../contract/index.ts'
import { type Instant, type Refusal, reasonOf } from '../../kernel/index.ts'
import { isKnownCondition } from '../../platform/dependency-log.ts'
import type { Call } from '../pipeline/call.ts'
import type { ClosedSocket } from '../sockets/relay.ts'
import type { bytesOf } from './bytes.ts'
import { readLogFields } from './log-fields.ts'

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
  bytes?: ReturnType<typeof bytesOf>
}

/** In each line of a request. */
export interface LogSettings {
  version: string
  replica: string
  fields: readonly LogField[]
}

export function createRequestLog(
  logger: Logger,
  catalogue: Pick<Catalogue, 'statusOf'>,
  settings: LogSettings,
): (finished: FinishedRequest) => void {
  return (finished) => {
    const fields = requestFields(finished, settings)
    const { refusal } = finished
    const isAbandoned = finished.status === null
    if (!refusal) {
      logger.info(fields, isAbandoned ? 'request abandoned' : 'request')
      return
    }
    const { internal, upstreamCode } = refusal.detail
    const refused = { ...fields, code: refusal.code, internal, upstreamCode }
    if (isServerError(catalogue, refusal)) logger.error({ ...refused, ...faultFields(refusal) }, 'request failed')
    else logger.info(refused, isAbandoned ? 'request abandoned' : 'request refused')
  }
}

/** The line contains no message. */
export function createSocketLog(logger: Logger, { version, replica }: LogSettings) {
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
        version,
        replica,
      },
      'socket closed',
    )
}

/** Of the URL, the line contains only the path. */
export function createPageLog(logger: Logger, { version, replica }: Pick<LogSettings, 'version' | 'replica'>) {
  const process = { version, replica }
  return pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: { req: () => undefined, res: () => undefined },
    customAttributeKeys: { responseTime: 'ms', reqId: 'pageRequest' },
    customSuccessMessage: () => 'page',
    customErrorMessage: () => 'page failed',
    customSuccessObject: (request, response, fields) => ({ ...fields, ...pageFields(request, response), ...process }),
    customErrorObject: (request, response, _error, fields) => ({
      ...fields,
      ...pageFields(request, response),
      ...process,
    }),
  })
}

/** A line must not contain a body, a query, a token, an access code or a client hash. */
function requestFields(
  { requestId, call, unmatched, status, ms, bytes }: FinishedRequest,
  { version, replica, fields }: LogSettings,
) {
  return {
    requestId,
    idempotencyKey: call?.idempotencyKey ?? undefined,
    status: status ?? undefined,
    abandoned: status === null || undefined,
    ms: roundMs(ms),
    upstreamMs: call?.upstream ? roundMs(call.upstream.ms) : undefined,
    ...bytes,
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
    version,
    replica,
    ...(call && fields.length > 0 && readLogFields(fields, call)),
  }
}

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100
}

/** The stack is for faults. A failed dependency would repeat it in each line of an outage. */
function faultFields(refusal: Refusal) {
  const error = refusal.cause ?? refusal
  return isKnownCondition(refusal) ? { reason: reasonOf(error) } : { err: error }
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
