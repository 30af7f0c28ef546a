import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'
import { Refusal } from '../kernel/index.ts'
import { Call } from './call.ts'

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
      requestId: call.requestId,
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

/** One structured line per request, when its answer has gone out. */
export const requestLog = (logger: Logger) =>
  pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: { req: () => undefined, res: () => undefined },
    customLogLevel: (_request, response, error) => (error || isFault(localsOf(response)) ? 'error' : 'info'),
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request failed',
    customAttributeKeys: { responseTime: 'ms' },
    customSuccessObject: (_request, response) => facts(response),
    customErrorObject: (_request, response, error) => ({ err: error, ...facts(response) }),
  })
