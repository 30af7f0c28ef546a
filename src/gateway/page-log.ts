import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'

const told = ({ url }: IncomingMessage, { statusCode }: ServerResponse) => ({
  status: statusCode,
  page: url?.split('?')[0],
})

/** A line per public page that is served (the chains write their own: request-log.ts). Nothing of the request but its path. */
export const pageLog = (logger: Logger) =>
  pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: { req: () => undefined, res: () => undefined },
    customAttributeKeys: { responseTime: 'ms', reqId: 'pageRequest' },
    customSuccessMessage: () => 'page',
    customErrorMessage: () => 'page failed',
    customSuccessObject: (request, response, timed) => ({ ...timed, ...told(request, response) }),
    customErrorObject: (request, response, _error, timed) => ({ ...timed, ...told(request, response) }),
  })
