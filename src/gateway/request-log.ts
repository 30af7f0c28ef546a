import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'
import { type Ids, Refusal } from '../kernel/index.ts'
import { Call } from './call.ts'
import { requestIdPattern } from './stages/required-headers.ts'

interface Locals {
  call?: unknown
  refusal?: unknown
}

const localsOf = (response: ServerResponse): Locals =>
  'locals' in response && typeof response.locals === 'object' && response.locals !== null ? response.locals : {}

const isFault = ({ refusal }: Locals): boolean =>
  refusal instanceof Refusal && refusal.status >= 500 && refusal.status !== 501 && !refusal.detail.documented

/** What a line may contain, listed: never a body, a query, a token, an access code or a client hash. */
const facts = (response: ServerResponse): Record<string, unknown> => {
  const { call, refusal } = localsOf(response)
  return {
    status: response.statusCode,
    ...(call instanceof Call && {
      operation: call.operation.id,
      chain: call.chainId,
      method: call.method,
      clientIp: call.clientIp,
      country: call.country,
      account: call.caller?.accountId,
      session: call.caller?.sessionId,
      apiKey: call.caller?.apiKeyId ?? undefined,
      workspace: call.workspace?.id,
      userAgent: call.userAgent,
    }),
    ...(refusal instanceof Refusal && {
      code: refusal.code,
      internal: refusal.detail.internal,
      ...(isFault({ refusal }) && { err: refusal.cause ?? refusal }),
    }),
  }
}

/** One structured line per request, when its answer has gone out. It also fixes the request's id: the client's where that is proper. */
export const requestLog = (logger: Logger, ids: Ids) =>
  pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && requestIdPattern.test(given) ? given : ids.next()
    },
    serializers: { req: () => undefined, res: () => undefined },
    customLogLevel: (_request, response, error) => (error || isFault(localsOf(response)) ? 'error' : 'info'),
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request failed',
    customAttributeKeys: { responseTime: 'ms', reqId: 'requestId' },
    customSuccessObject: (_request, response, timed) => ({ ...timed, ...facts(response) }),
    customErrorObject: (_request, response, error, timed) => ({ ...timed, err: error, ...facts(response) }),
  })
